package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// file is a description of a server under test.
type file struct {
	path       string
	header     string            // name of the key header
	commands   []string          // with their lines
	secrets    map[string]string // the principal of each credential
	Servers    []string
	Profile    string
	Key        string
	Principals map[string]http.Header
	Before     []request
	Do         request
	Other      *request
	Routes     []request
	Empty      *request
	Refused    *request
	Remedy     []request
	Fail       traps
	Effects    effects
	Hold       traps
	Kill       string
	Start      string
	Expire     string
	Down, Up   string
	Known      []string
	Timeout    time.Duration
	Patience   time.Duration
}

// request is a template: its strings may contain ${names}.
type request struct {
	As, Method, Path string
	Headers          map[string]string
	Body             *yaml.Node
	Capture          map[string]string // JSON pointers by name
}

// traps catch a command before and after the effect.
type traps struct{ Before, After *trap }

type trap struct {
	Headers             map[string]string
	Exec, Await, Undone string
}

// effects says how effects are counted.
type effects struct {
	Get     string
	Pointer string
	As      string `yaml:",omitempty"`
	Exec    string `yaml:",omitempty"`
}

// parser reads a file and keeps all that is wrong with it.
type parser struct {
	name     string
	problems []string
	names    []string     // that ${…} may name
	named    []*yaml.Node // principals
	commands []*yaml.Node // that sh runs
}

// ours are the values that each operation has.
var ours = []string{"unique", "canary", "key"}

const defaultProfile = "draft-07"

// parse reads a description.
func parse(path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &parser{name: path, names: slices.Clone(ours)}
	f := &file{path: path, secrets: map[string]string{}, Profile: defaultProfile, Timeout: 30 * time.Second, Patience: 45 * time.Second}
	if document.Kind == 0 {
		return nil, fmt.Errorf("%s: the file is empty; `auth19 init` writes one", path)
	}
	p.file(document.Content[0], f)
	p.check(document.Content[0], f)
	if len(p.problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(p.problems, "\n"))
	}
	for _, n := range p.commands {
		f.commands = append(f.commands, fmt.Sprintf("%d: %s", n.Line, n.Value))
	}
	return f, nil
}

func (p *parser) problem(n *yaml.Node, format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("%s:%d: %s", p.name, n.Line, fmt.Sprintf(format, args...)))
}

func (p *parser) file(n *yaml.Node, f *file) {
	p.object(n, "the file", members{
		"server":     func(n *yaml.Node) { f.Servers = p.servers(n) },
		"profile":    func(n *yaml.Node) { f.Profile = p.oneOf(n, "a profile", profileNames()) },
		"key":        func(n *yaml.Node) { f.Key = p.text(n) },
		"principals": func(n *yaml.Node) { f.Principals = p.principals(n) },
		"before":     func(n *yaml.Node) { f.Before = p.requests(n) },
		"do":         func(n *yaml.Node) { f.Do = p.request(n) },
		"other":      func(n *yaml.Node) { f.Other = new(p.request(n)) },
		"routes":     func(n *yaml.Node) { f.Routes = p.requests(n) },
		"empty":      func(n *yaml.Node) { f.Empty = new(p.request(n)) },
		"refused":    func(n *yaml.Node) { f.Refused = new(p.request(n)) },
		"remedy":     func(n *yaml.Node) { f.Remedy = p.requests(n) },
		"fail":       func(n *yaml.Node) { f.Fail = p.traps(n, "undo") },
		"effects":    func(n *yaml.Node) { f.Effects = p.effects(n) },
		"hold":       func(n *yaml.Node) { f.Hold = p.traps(n, "release") },
		"kill":       func(n *yaml.Node) { f.Kill = p.exec(n) },
		"start":      func(n *yaml.Node) { f.Start = p.exec(n) },
		"expire":     func(n *yaml.Node) { f.Expire = p.exec(n) },
		"store":      func(n *yaml.Node) { f.Down, f.Up = p.store(n) },
		"known":      func(n *yaml.Node) { f.Known = p.probes(n) },
		"timeout":    func(n *yaml.Node) { f.Timeout = p.duration(n) },
		"patience":   func(n *yaml.Node) { f.Patience = p.duration(n) },
	})
}

// check finds missing members, and ${names} that no member sets.
func (p *parser) check(n *yaml.Node, f *file) {
	for name, there := range map[string]bool{
		"server": len(f.Servers) > 0, "do": f.Do.Path != "", "effects": f.Effects != effects{},
	} {
		if !there && len(p.problems) == 0 {
			p.problem(n, "%s is missing", name)
		}
	}
	if f.Kill != "" && f.Start == "" {
		p.problem(n, "start is missing: after kill, a command such as start: {exec: ./start} must bring the process back")
	}
	known := slices.Sorted(maps.Keys(f.Principals))
	for _, n := range p.named {
		p.oneOf(n, "a principal", known)
	}
	p.variables(n)
}

var (
	variable  = regexp.MustCompile(`\$\{([^}]*)\}`)
	plainName = regexp.MustCompile(`^\w+$`)
)

func (p *parser) variables(n *yaml.Node) {
	inCommand := slices.Contains(p.commands, n)
	for _, found := range variable.FindAllStringSubmatch(n.Value, -1) {
		switch {
		case inCommand && !plainName.MatchString(found[1]): // an expansion of the shell
		case inCommand:
			p.problem(n, "%s in a command: commands get values as environment variables, never as text; write \"$%s\"", found[0], found[1])
		case !slices.Contains(p.names, found[1]):
			p.problem(n, "%s: not set; available: ${%s}", found[0], strings.Join(p.names, "}, ${"))
		}
	}
	for _, child := range n.Content {
		p.variables(child)
	}
}

// members reads the members of an object by name.
type members map[string]func(*yaml.Node)

func (p *parser) object(n *yaml.Node, what string, known members) {
	if n.Kind != yaml.MappingNode {
		p.problem(n, "%s: expected an object with the members %s%s", what, list(known), exampleOf(what))
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i]
		switch read := known[name.Value]; {
		case read == nil:
			p.problem(name, "unknown member %q of %s; allowed: %s", name.Value, what, list(known))
		case seen[name.Value]:
			p.problem(name, "a second member %q of %s", name.Value, what)
		default:
			seen[name.Value] = true
			read(n.Content[i+1])
		}
	}
}

// exampleOf returns an example of a member, or "".
func exampleOf(what string) string {
	example := map[string]string{
		"a request": "{path: /charges, body: {amount: 100}}", "effects": "{get: /charges, pointer: /data}", "a command": "{exec: ./stop}",
		"hold and fail": `{before: {headers: {X-Delay: "1000"}}}`, "the principal": "{Authorization: Bearer …}", "headers": "{X-Shop: one}",
		"capture": "{cart: /id}",
	}[what]
	if example == "" {
		return ""
	}
	return ", such as " + example
}

func list(known members) string { return strings.Join(slices.Sorted(maps.Keys(known)), ", ") }

func (p *parser) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.problem(n, "expected a text, not a list, an object or an empty value")
	}
	return n.Value
}

func (p *parser) oneOf(n *yaml.Node, what string, known []string) string {
	if n.Kind != yaml.ScalarNode || !slices.Contains(known, n.Value) {
		p.problem(n, "%q is not %s; allowed: %s", n.Value, what, strings.Join(known, ", "))
	}
	return n.Value
}

// oneOrMany reads a single element, or the elements of a list.
func oneOrMany[T any](n *yaml.Node, read func(*yaml.Node) T) []T {
	elements := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		elements = n.Content
	}
	made := make([]T, len(elements))
	for i, element := range elements {
		made[i] = read(element)
	}
	return made
}
