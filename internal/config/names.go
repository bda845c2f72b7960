package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"example.com/orders/internal/core"
)

// prefix begins every setting's name.
const prefix = "ORDERS_"

// maxTypos is the maximum edit distance for a suggestion.
const maxTypos = 2

// fileSuffix ends the name of a variable that names a file with the setting.
const fileSuffix = "_FILE"

// withFiles returns the environment with each secret whose file it names, as container
// platforms mount them, and why secrets cannot be read.
func withFiles(environ []string) (set map[string]string, failed map[string]error) {
	set, failed = env.ToMap(environ), map[string]error{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name := variable(field)
		path := set[name+fileSuffix]
		if path == "" || !isSecret(field) {
			continue
		}
		switch text, err := os.ReadFile(path); {
		case set[name] != "":
			failed[name] = fmt.Errorf("%s must not be set together with %[1]s%s", name, fileSuffix)
		case err != nil:
			failed[name] = fmt.Errorf("%s%s must name a readable file: %w", name, fileSuffix, err)
		default:
			set[name] = strings.TrimRight(string(text), "\r\n")
		}
	}
	return set, failed
}

// unknownNames returns an error for each variable with our prefix that is no setting: a
// typing error would otherwise leave a default in force.
func unknownNames(environ []string) []error {
	known := variables()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(env.ToMap(environ))) {
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) {
			continue
		}
		problem := removedSetting(name)
		if problem == nil {
			problem = fmt.Errorf("%s is no setting%s", name, suggestion(name, known))
		}
		problems = append(problems, problem)
	}
	return problems
}

// suggestion proposes the closest setting, if one is close.
func suggestion(name string, known []string) string {
	name = strings.ToUpper(name)
	closest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
	if distance(name, closest) > maxTypos {
		return ""
	}
	return "; do you mean " + closest + "?"
}

// distance returns how many typing errors make the intended name out of a name whose
// words may be in another order, or abbreviated.
func distance(name, intended string) int {
	want := strings.Split(intended, "_")
	words := strings.Split(name, "_")
	for i, word := range words {
		long := slices.IndexFunc(want, func(w string) bool { return abbreviates(word, w) })
		if long >= 0 && !slices.Contains(want, word) {
			words[i] = want[long]
		}
	}
	slices.Sort(words)
	slices.Sort(want)
	return min(typos(name, intended), typos(strings.Join(words, "_"), strings.Join(want, "_")))
}

// abbreviates reports whether a word consists of a longer word's first letter and some of
// the others, as DB does for DATABASE.
func abbreviates(word, long string) bool {
	if len(word) < 2 || len(word) >= len(long) || word[0] != long[0] {
		return false
	}
	rest := long
	for _, letter := range word {
		_, after, found := strings.Cut(rest, string(letter))
		if !found {
			return false
		}
		rest = after
	}
	return true
}

// typos returns the Levenshtein distance between two names.
func typos(name, intended string) int {
	row := make([]int, len(intended)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(name) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(intended) {
			replaced := diagonal
			if name[i] != intended[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, replaced)
		}
	}
	return row[len(intended)]
}

// variables returns all setting names, and those of files with secrets.
func variables() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		names = append(names, variable(field))
		if isSecret(field) {
			names = append(names, variable(field)+fileSuffix)
		}
	}
	return names
}

// variable returns the field's environment variable.
func variable(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	return name
}

// Roles is a comma-separated list of roles. The word none is the empty list.
type Roles []core.Role

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Roles) UnmarshalText(text []byte) error {
	*r = nil
	if string(text) == "none" {
		return nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		role, known := core.ParseRole(strings.TrimSpace(name))
		if !known {
			return fmt.Errorf("%q is no role", name)
		}
		*r = append(*r, role)
	}
	return nil
}

// RoleNames returns the role that each of the issuer's names grants, or nil if
// ORDERS_ROLES_MAP is malformed.
func (c Config) RoleNames() map[string]core.Role {
	granted := map[string]core.Role{}
	for _, entry := range c.RolesMap {
		ours, names, _ := strings.Cut(entry, "=")
		role, known := core.ParseRole(ours)
		for name := range strings.SplitSeq(names, "|") {
			if _, taken := granted[name]; taken || !known || name == "" || !isTrimmed(name) {
				return nil
			}
			granted[name] = role
		}
	}
	return granted
}
