package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is an OpenAPI description.
type document map[string]any

// initialize writes a description of the operations of a contract that carry a key.
func initialize(_ context.Context, args []string, out, _ io.Writer) (int, error) {
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
	return kept, d.write(out, operations)
}

// operation is one that carries a key.
type operation struct {
	method, path, key string
	body              any
}

// guarded returns the operations with a key header among the parameters.
func (d document) guarded() []operation {
	var found []operation
	paths := d.object(d["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := d.object(paths[path])
		for _, method := range []string{"post", "put", "patch", "delete"} {
			op := d.object(item[method])
			if key := d.keyHeader(item["parameters"], op["parameters"]); key != "" {
				found = append(found, operation{strings.ToUpper(method), path, key, d.body(op)})
			}
		}
	}
	return found
}

// keyHeader returns the name of the header with the key.
func (d document) keyHeader(lists ...any) string {
	for _, list := range lists {
		parameters, _ := list.([]any)
		for _, parameter := range parameters {
			p := d.object(parameter)
			name, _ := p["name"].(string)
			lower := strings.ToLower(name)
			if p["in"] == "header" && (strings.Contains(lower, "idempotency") || lower == "paypal-request-id") {
				return http.CanonicalHeaderKey(name)
			}
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
	for _, name := range []string{"example", "default", "const"} {
		if value, found := s[name]; found {
			return value
		}
	}
	if values, found := s["enum"].([]any); found && len(values) > 0 {
		return values[0]
	}
	if depth > 8 {
		return nil
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

// write writes the first operation as the one to test, and the rest as comments.
func (d document) write(out io.Writer, operations []operation) error {
	server := "http://127.0.0.1:8080"
	if servers, _ := d["servers"].([]any); len(servers) > 0 {
		if url, _ := d.object(servers[0])["url"].(string); strings.HasPrefix(url, "http") {
			server = strings.TrimSuffix(url, "/")
		}
	}
	first := operations[0]
	body, err := json.Marshal(first.body)
	say(out, `server: %s             # or [%[1]s, and the URL of a second process]
profile: auth-19
key: %s
principals:
  a: {Authorization: "Bearer $(cat token)"}  # $(…) is a command
do: {method: %s, path: %q, body: %s}
`, server, first.key, first.method, first.path, body)
	for _, other := range operations[1:] {
		body, failed := json.Marshal(other.body)
		err = errors.Join(err, failed)
		say(out, "# or: {method: %s, path: %q, body: %s}\n", other.method, other.path, body)
	}
	say(out, `# other: {body: {…}}        a body that asks for something else
effects: {get: %q, pointer: /data}  # what counts the effects: a number, or a list, shown to a
`, first.path)
	return err
}
