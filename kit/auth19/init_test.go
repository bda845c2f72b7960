package main

import (
	"strings"
	"testing"
)

// run accepts a description that init has written.
func TestInit_WritesADescription(t *testing.T) {
	t.Parallel()
	status, out := command19(t, "init", "--openapi", "../../api/openapi.yaml")
	if status != kept {
		t.Fatal(out)
	}
	f, err := parse(write(t, out))
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	body := values{}.body(f.Do.Body)
	if f.Key != "Idempotency-Key" || f.Do.Method != "POST" || !strings.HasPrefix(f.Do.Path, "/") || !strings.HasPrefix(body, "{") {
		t.Errorf("%+v, body %s", f, body)
	}
	if n := strings.Count(out, "# or: {method"); n != 7 {
		t.Errorf("%d other operations, want 7:\n%s", n, out)
	}
}

func TestInit_ReadsSchemasAndReferences(t *testing.T) {
	t.Parallel()
	const contract = `{"servers": [{"url": "https://api.example/v1/"}], "paths": {"/charges": {
		"parameters": [{"$ref": "#/components/parameters/key"}],
		"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/charge"}}}}}}},
		"components": {"parameters": {"key": {"name": "PayPal-Request-Id", "in": "header"}}, "schemas": {"charge": {
			"type": "object", "required": ["amount", "to", "tags", "kind"], "properties": {"amount": {"type": "integer"},
			"to": {"type": "string"}, "tags": {"type": "array", "items": {"type": "boolean"}}, "kind": {"enum": ["card"]}}}}}}`
	status, out := command19(t, "init", "--openapi", write(t, contract))
	for _, want := range []string{
		"server: https://api.example/v1 ", "key: Paypal-Request-Id",
		`do: {method: POST, path: "/charges", body: {"amount":1,"kind":"card","tags":[true],"to":"text"}}`,
	} {
		if status != kept || !strings.Contains(out, want) {
			t.Errorf("status %d: %q is missing:\n%s", status, want, out)
		}
	}
}

func TestInit_SaysWhyItIsImpossible(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"init needs --openapi FILE": {"init"}, "no such file": {"init", "--openapi", "/nowhere"},
		"no operation has a header": {"init", "--openapi", write(t, "paths: {}")},
	} {
		if status, out := command19(t, args...); status != unusable || !strings.Contains(out, want) {
			t.Errorf("status %d: %s, want %q", status, out, want)
		}
	}
}
