package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// prefix begins the name of every variable of ours.
const prefix = "ORDERS_"

// maxTypos is in how many characters a mistyped name differs from the intended one.
const maxTypos = 2

// CheckNames returns an error for each variable that has our prefix and is no setting: a
// typing error would otherwise leave a default in force.
func CheckNames(environ []string) error { return errors.Join(unknownNames(environ)...) }

func unknownNames(environ []string) []error {
	known := variables()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(env.ToMap(environ))) {
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, name) {
			problems = append(problems, fmt.Errorf("%s is no setting%s", name, suggestion(name, known)))
		}
	}
	return problems
}

// suggestion asks for the setting whose name is closest, if one is close.
func suggestion(name string, known []string) string {
	closest := slices.MinFunc(known, func(a, b string) int { return typos(name, a) - typos(name, b) })
	if typos(name, closest) > maxTypos {
		return ""
	}
	return "; do you mean " + closest + "?"
}

// typos returns how many characters have to be inserted, deleted or replaced to make one
// name of the other (the Levenshtein distance). Capitals do not count.
func typos(name, intended string) int {
	name = strings.ToUpper(name)
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

// variables returns the names of all settings.
func variables() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		names = append(names, variable(field))
	}
	return names
}

// variable returns the name of the variable that a field of Config is read from.
func variable(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	return name
}
