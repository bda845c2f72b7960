package main

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (p *parser) servers(n *yaml.Node) []string {
	servers := oneOrMany(n, func(n *yaml.Node) string {
		switch stated := p.text(n); {
		case strings.Contains(stated, "@"):
			p.problem(n, "expected a URL without user and password; put them into principals, such as a: {Authorization: Basic …}")
		case !isServer(stated):
			p.problem(n, "%q: expected a URL, such as http://127.0.0.1:8080", stated)
		}
		return strings.TrimSuffix(n.Value, "/")
	})
	if len(servers) > 2 {
		p.problem(n, "%d servers; expected one URL, or those of two processes", len(servers))
	}
	return servers
}

func isServer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https"}, u.Scheme) && u.Host != "" && u.User == nil && u.RawQuery+u.Fragment == ""
}

func (p *parser) probes(n *yaml.Node) []string {
	return oneOrMany(n, func(n *yaml.Node) string { return p.oneOf(n, "a probe", probeNames()) })
}

func (p *parser) duration(n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d <= 0 {
		p.problem(n, "%q: expected a duration, such as 30s", n.Value)
	}
	return d
}

func (p *parser) principals(n *yaml.Node) map[string]http.Header {
	all := map[string]http.Header{}
	if n.Kind != yaml.MappingNode {
		p.problem(n, "principals: expected names, such as a and b, with headers")
		return all
	}
	for i := 0; i < len(n.Content); i += 2 {
		headers := http.Header{}
		for field, value := range p.texts(n.Content[i+1], "the principal") {
			headers.Set(field, value)
		}
		for _, value := range n.Content[i+1].Content {
			if command.MatchString(value.Value) {
				p.commands = append(p.commands, value)
			}
		}
		all[n.Content[i].Value] = headers
	}
	if b, found := all["b"]; found && maps.EqualFunc(all["a"], b, slices.Equal) {
		p.problem(n, "principals: a and b have the same headers; expected two callers")
	}
	return all
}

// as reads the name of a principal, which check looks up.
func (p *parser) as(n *yaml.Node) string {
	p.named = append(p.named, n)
	return p.text(n)
}

// texts reads an object with text members of any name.
func (p *parser) texts(n *yaml.Node, what string) map[string]string {
	texts := map[string]string{}
	if n.Kind != yaml.MappingNode {
		p.problem(n, "%s: expected names and values%s", what, exampleOf(what))
		return texts
	}
	for i := 0; i < len(n.Content); i += 2 {
		texts[n.Content[i].Value] = p.text(n.Content[i+1])
	}
	return texts
}

var placeholder = regexp.MustCompile(`(^|[^$])(\{[^}]*\})`)

func (p *parser) path(n *yaml.Node) string {
	path := p.text(n)
	if !strings.HasPrefix(path, "/") {
		p.problem(n, "%q: expected a path that begins with /", path)
	}
	for _, found := range placeholder.FindAllStringSubmatch(path, -1) {
		p.problem(n, "%q: put a value in place of %s, or capture one in before and write $%[2]s", path, found[2])
	}
	return path
}

func (p *parser) requests(n *yaml.Node) []request { return oneOrMany(n, p.request) }

func (p *parser) request(n *yaml.Node) request {
	var r request
	p.object(n, "a request", members{
		"as":      func(n *yaml.Node) { r.As = p.as(n) },
		"method":  func(n *yaml.Node) { r.Method = strings.ToUpper(p.text(n)) },
		"path":    func(n *yaml.Node) { r.Path = p.path(n) },
		"headers": func(n *yaml.Node) { r.Headers = p.texts(n, "headers") },
		"body":    func(n *yaml.Node) { r.Body = n },
		"capture": func(n *yaml.Node) {
			r.Capture = p.captures(n)
			p.names = append(p.names, slices.Sorted(maps.Keys(r.Capture))...)
		},
	})
	return r
}

// captured matches the names of values that a server chooses: none that programs heed.
var captured = regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`)

// captures reads JSON pointers by name. Commands get the values as environment variables.
func (p *parser) captures(n *yaml.Node) map[string]string {
	pointers := p.texts(n, "capture")
	for _, name := range slices.Sorted(maps.Keys(pointers)) {
		_, taken := os.LookupEnv(name)
		p.isPointer(n, pointers[name])
		switch {
		case !captured.MatchString(name), strings.HasSuffix(name, "_proxy"):
			p.problem(n, "capture %q: expected a name of letters, digits and _ that begins with a lower-case letter, such as cart, and does not end with _proxy", name)
		case taken, slices.Contains(ours, name):
			p.problem(n, "capture %q: a variable of this name exists already; choose a different name", name)
		}
	}
	return pointers
}

// pointer reads a JSON pointer; an empty one leads to the whole body.
func (p *parser) pointer(n *yaml.Node) string {
	p.isPointer(n, n.Value)
	return n.Value
}

func (p *parser) isPointer(n *yaml.Node, text string) {
	if text != "" && !strings.HasPrefix(text, "/") {
		p.problem(n, "%q: expected a JSON pointer that begins with /, such as /data", text)
	}
}

// command reads a command for sh.
func (p *parser) command(n *yaml.Node) string {
	p.commands = append(p.commands, n)
	return p.text(n)
}

func (p *parser) exec(n *yaml.Node) (command string) {
	p.object(n, "a command", members{"exec": func(n *yaml.Node) { command = p.command(n) }})
	return command
}

func (p *parser) store(n *yaml.Node) (down, up string) {
	texts := true
	read := func(into *string) func(*yaml.Node) {
		return func(n *yaml.Node) {
			*into = n.Value
			p.commands = append(p.commands, n)
			texts = texts && n.Kind == yaml.ScalarNode && n.Value != ""
		}
	}
	p.object(n, "store", members{"down": read(&down), "up": read(&up)})
	if !texts {
		p.problem(n, `store: expected commands as text: {down: "…", up: "…"}`)
	}
	return down, up
}

func (p *parser) effects(n *yaml.Node) (e effects) {
	p.object(n, "effects", members{
		"get":     func(n *yaml.Node) { e.Get = p.path(n) },
		"pointer": func(n *yaml.Node) { e.Pointer = p.pointer(n) },
		"as":      func(n *yaml.Node) { e.As = p.as(n) },
		"exec":    func(n *yaml.Node) { e.Exec = p.command(n) },
	})
	if (e.Get == "") == (e.Exec == "") {
		p.problem(n, "effects: expected either get, with a pointer to a number or a list, or exec")
	}
	return e
}

func (p *parser) traps(n *yaml.Node, undo string) (t traps) {
	read := func(into **trap) func(*yaml.Node) {
		return func(n *yaml.Node) { *into = new(p.trap(n, undo)) }
	}
	p.object(n, "hold and fail", members{"before": read(&t.Before), "after": read(&t.After)})
	return t
}

func (p *parser) trap(n *yaml.Node, undo string) (t trap) {
	p.object(n, "a hook", members{
		"headers": func(n *yaml.Node) { t.Headers = p.texts(n, "headers") },
		"exec":    func(n *yaml.Node) { t.Exec = p.command(n) },
		"await":   func(n *yaml.Node) { t.Await = p.command(n) },
		undo:      func(n *yaml.Node) { t.Undone = p.command(n) },
	})
	if (t.Headers == nil) == (t.Exec == "") || t.Exec != "" && t.Undone == "" {
		p.problem(n, "expected either headers, or exec with %s", undo)
	}
	return t
}
