package main

import (
	"fmt"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// name is how a service is called in each place that names it.
type name struct {
	module string // example.com/gift-cards
	kebab  string // gift-cards: commands, folders, subjects
	snake  string // gift_cards: databases, roles, metrics
	upper  string // GIFT_CARDS: settings, streams
	header string // Gift-Cards: headers of messages
	camel  string // GiftCards: identifiers, alerts
	flat   string // giftcards: anchors of headings
	title  string // Gift cards: headings
}

// reservedNames cannot name a service. Go, PostgreSQL and the business have other things of
// the first ones, sessions of the shell have variables with the last ones, and the service
// refuses variables that begin with its name and that it does not know.
var reservedNames = strings.Fields(`internal testdata vendor main postgres public template0 template1
	order orders-dev customer seller system payment refund json url attempt
	aws ci docker git github gitlab go home http https java kubernetes lang lc mail make no node npm path pg pwd
	shell ssh ssl term test tmp user xdg`)

var (
	validModule = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*)+$`)
	validName   = regexp.MustCompile(`^[a-z]+[a-z0-9]*(-[a-z0-9]+)*$`)
)

// maxName leaves room for suffixes in role names, which have up to 63 characters.
const maxName = 40

// parseName returns a module's service name: its last path element before a major version.
func parseName(module string) (name, error) {
	if !validModule.MatchString(module) {
		return name{}, fmt.Errorf("MODULE %q is no module path with a domain, such as example.com/tickets", module)
	}
	last := path.Base(module)
	if strings.Trim(last, "0123456789") == "v" {
		last = path.Base(path.Dir(module))
	}
	switch {
	case !validName.MatchString(last), len(last) > maxName:
		return name{}, fmt.Errorf("the last element of MODULE, %q, names the service: "+
			"it must be small letters, digits and single hyphens, begin with a letter, and have at most %d characters", last, maxName)
	case slices.Contains(reservedNames, last), token.IsKeyword(last):
		return name{}, fmt.Errorf("the last element of MODULE, %q, names the service, "+
			"and this word has another meaning in its code or in its environment: choose another one", last)
	}
	return spell(module, last), nil
}

func spell(module, kebab string) name {
	words := strings.Split(kebab, "-")
	n := name{
		module: module, kebab: kebab, snake: strings.Join(words, "_"), upper: strings.ToUpper(strings.Join(words, "_")),
		flat: strings.Join(words, ""), title: capital(strings.Join(words, " ")),
	}
	for i := range words {
		words[i] = capital(words[i])
	}
	n.header, n.camel = strings.Join(words, "-"), strings.Join(words, "")
	return n
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// spellings maps what places.txt calls a spelling to the spelling.
func (n name) spellings() map[string]string {
	return map[string]string{
		"module": n.module, "kebab": n.kebab, "snake": n.snake, "upper": n.upper,
		"header": n.header, "camel": n.camel, "flat": n.flat, "title": n.title,
	}
}

// ownName returns the service's name in root.
func ownName(root string) (name, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return name{}, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return parseName(strings.TrimPrefix(first, "module "))
}
