package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is an OpenAPI description.
type document map[string]any

// initialize writes a description of the operations of a contract that carry a key.
func initialize(_ context.Context, args []string, c console) (int, error) {
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	path := flags.String("openapi", "", "")
	if rest, err := parseArgs(flags, args); err != nil || len(rest) > 0 || *path == "" {
		return unusable, errors.Join(err, errors.New("init needs --openapi FILE"))
	}
	text, err := os.ReadFile(*path)
	if err != nil {
		return unusable, err
	}
	var root map[string]any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return unusable, fmt.Errorf("%s: %w", *path, err)
	}
	d := document(root)
	operations := d.guarded()
	if len(operations) == 0 {
		return unusable, fmt.Errorf("%s: no operation has a header such as Idempotency-Key", *path)
	}
	return kept, d.write(c.out, operations)
}

// operation is one that carries a key.
type operation struct {
	Method string
	Path   string
	Body   any `yaml:",omitempty"`

	key string
}

// guarded returns the operations with a key header among the parameters. Those with a path
// parameter to fill in come last.
func (d document) guarded() []operation {
	var found []operation
	paths := d.object(d["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := d.object(paths[path])
		for _, method := range []string{"post", "put", "patch", "delete"} {
			op := d.object(item[method])
			parameters := append(d.parameters(item), d.parameters(op)...)
			if key := keyHeader(parameters); key != "" {
				found = append(found, operation{strings.ToUpper(method), d.filled(path, parameters), d.body(op), key})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b operation) int {
		return strings.Count(a.Path, "{") - strings.Count(b.Path, "{")
	})
	return found
}

func (d document) parameters(of map[string]any) []map[string]any {
	list, _ := of["parameters"].([]any)
	var parameters []map[string]any
	for _, parameter := range list {
		parameters = append(parameters, d.object(parameter))
	}
	return parameters
}

// filled returns a path with the values that the contract has for parameters.
func (d document) filled(path string, parameters []map[string]any) string {
	for _, p := range parameters {
		value := cmp.Or(example(p), example(d.object(p["schema"])))
		if p["in"] == "path" && value != nil {
			path = strings.ReplaceAll(path, fmt.Sprintf("{%v}", p["name"]), url.PathEscape(fmt.Sprint(value)))
		}
	}
	return path
}

// keyHeader returns the name of the header with the key.
func keyHeader(parameters []map[string]any) string {
	for _, p := range parameters {
		name, _ := p["name"].(string)
		lower := strings.ToLower(name)
		if p["in"] == "header" && (strings.Contains(lower, "idempotency") || lower == "paypal-request-id") {
			return http.CanonicalHeaderKey(name)
		}
	}
	return ""
}

// object returns an object, or the target of $ref.
func (d document) object(value any) map[string]any {
	object, _ := value.(map[string]any)
	ref, isRef := object["$ref"].(string)
	if !isRef {
		return object
	}
	var at any = map[string]any(d)
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		inner, _ := at.(map[string]any)
		at = inner[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return d.object(at)
}

// body returns a body for an operation: the example, or one made from the schema.
func (d document) body(op map[string]any) any {
	content := d.object(d.object(op["requestBody"])["content"])
	media := d.object(content["application/json"])
	if example, found := media["example"]; found {
		return example
	}
	examples := d.object(media["examples"])
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		if example := d.object(examples[name]); example["value"] != nil {
			return example["value"]
		}
	}
	return d.sample(media["schema"], 0)
}

// sample returns a value that fits a schema, as far as that is easy to tell.
func (d document) sample(schema any, depth int) any {
	s := d.object(schema)
	value := example(s)
	if value != nil || depth > 8 {
		return value
	}
	for _, name := range []string{"allOf", "oneOf", "anyOf"} {
		if parts, found := s[name].([]any); found && len(parts) > 0 {
			return d.sample(parts[0], depth+1)
		}
	}
	switch kind := fmt.Sprint(s["type"]); {
	case s["properties"] != nil:
		return d.sampleObject(s, depth)
	case strings.Contains(kind, "array"):
		return []any{d.sample(s["items"], depth+1)}
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "boolean"):
		return true
	case strings.Contains(kind, "string"):
		return "text"
	}
	return map[string]any{}
}

// example returns a value that a schema or parameter mentions, or nil.
func example(s map[string]any) any {
	for _, name := range []string{"example", "default", "const"} {
		if value, found := s[name]; found {
			return value
		}
	}
	if values, found := s["enum"].([]any); found && len(values) > 0 {
		return values[0]
	}
	return nil
}

// sampleObject returns an object with the required members.
func (d document) sampleObject(s map[string]any, depth int) any {
	required, _ := s["required"].([]any)
	properties := d.object(s["properties"])
	made := map[string]any{}
	for _, name := range required {
		made[fmt.Sprint(name)] = d.sample(properties[fmt.Sprint(name)], depth+1)
	}
	return made
}

// description is a file for run.
type description struct {
	Server, Profile, Key string
	Principals           map[string]map[string]string `yaml:",flow"`
	Do                   operation                    `yaml:",flow"`
	Effects              effects                      `yaml:",flow"`
}

// write writes the first operation as the one to test, and the rest as comments. The
// library quotes each text, because a contract may come from a stranger.
func (d document) write(out io.Writer, operations []operation) error {
	server := "http://127.0.0.1:8080"
	if servers, _ := d["servers"].([]any); len(servers) > 0 {
		if stated, _ := d.object(servers[0])["url"].(string); isServer(stated) {
			server = strings.TrimSuffix(stated, "/")
		}
	}
	first := operations[0]
	var root yaml.Node
	err := root.Encode(description{
		Server: server, Profile: defaultProfile, Key: first.key, Do: first,
		Principals: map[string]map[string]string{"a": {"Authorization": "Bearer $(cat token)"}},
		Effects:    effects{Get: first.Path, Pointer: "/data"},
	})
	comments := map[string]string{
		"server": "a URL, or a list with that of a second process", "profile": "or one of " + strings.Join(profileNames(), ", "),
		"principals": "$(…) is a command", "effects": "what counts the effects: a number, or a list, shown to a",
	}
	if strings.Contains(first.Path, "{") {
		comments["do"] = "put a value in place of each {name}\n"
	}
	for _, other := range operations[1:] {
		text, failed := yaml.Marshal(struct {
			Or operation `yaml:",flow"`
		}{other})
		err = errors.Join(err, failed)
		comments["do"] += string(text)
	}
	for i := 0; i < len(root.Content); i += 2 {
		root.Content[i].HeadComment = comments[root.Content[i].Value]
	}
	text, failed := yaml.Marshal(&root)
	_, unsaid := out.Write(text)
	return errors.Join(err, failed, unsaid)
}
