package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/orders/kit/guard/routetest/probe"
)

// values are the JSON that replaces ${names}.
type values map[string]json.RawMessage

// expand returns a text in which values stand for their ${names}.
func (v values) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		return v.text(variable.FindStringSubmatch(found)[1])
	})
}

func (v values) text(name string) string {
	var s string
	if json.Unmarshal(v[name], &s) == nil {
		return s
	}
	return string(v[name])
}

// environ returns the environment of a command, in which a value is a variable: a server
// may choose it, and no text of a server may become part of a command.
func (v values) environ() []string {
	environ := os.Environ()
	for name := range v {
		environ = append(environ, name+"="+v.text(name))
	}
	return environ
}

// body returns a YAML value as JSON, the members in order. A text is sent as it is.
func (v values) body(n *yaml.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		return v.expand(n.Value)
	}
	return v.json(n)
}

func (v values) json(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			parts = append(parts, quote(n.Content[i].Value)+":"+v.json(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case yaml.SequenceNode:
		for _, element := range n.Content {
			parts = append(parts, v.json(element))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case yaml.AliasNode:
		return v.json(n.Alias)
	default:
		return v.scalar(n)
	}
}

func (v values) scalar(n *yaml.Node) string {
	if whole := variable.FindString(n.Value); n.Tag == "!!str" && whole == n.Value && whole != "" {
		return string(v[variable.FindStringSubmatch(whole)[1]])
	}
	if n.Tag == "!!str" || !json.Valid([]byte(n.Value)) {
		return quote(v.expand(n.Value))
	}
	return n.Value
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
	return string(quoted)
}

// request returns a request of the file, with the members of base that it lacks.
func (v values) request(r, base request) probe.Request {
	made := probe.Request{Method: firstOf(r.Method, base.Method, http.MethodPost), Path: v.expand(firstOf(r.Path, base.Path)), Header: http.Header{}}
	for _, headers := range []map[string]string{base.Headers, r.Headers} {
		for name, value := range headers {
			made.Header.Set(name, v.expand(value))
		}
	}
	if made.Body = v.body(base.Body); r.Body != nil {
		made.Body = v.body(r.Body)
	}
	return made
}

// pointed returns the value that a JSON pointer leads to.
func pointed(body []byte, pointer string) (json.RawMessage, error) {
	at := json.RawMessage(body)
	for _, part := range strings.Split(pointer, "/")[min(1, len(pointer)):] {
		if pointer == "" {
			break
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var object map[string]json.RawMessage
		var elements []json.RawMessage
		i, notIndex := strconv.Atoi(name)
		switch {
		case json.Unmarshal(at, &object) == nil && object[name] != nil:
			at = object[name]
		case json.Unmarshal(at, &elements) == nil && notIndex == nil && i >= 0 && i < len(elements):
			at = elements[i]
		default:
			return nil, fmt.Errorf("the answer has no %s: %s", pointer, body)
		}
	}
	return at, nil
}
