package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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
		"server: https://api.example/v1\n", "key: Paypal-Request-Id", "profile: draft-07",
		`do: {method: POST, path: /charges, body: {amount: 1, kind: card, tags: [true], to: text}}`,
	} {
		if status != kept || !strings.Contains(out, want) {
			t.Errorf("status %d: %q is missing:\n%s", status, want, out)
		}
	}
}

// A contract is a text of somebody else, and no line of it may become a member: run would
// execute it.
func TestInit_WritesNoMemberOfAContract(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "'\n", "\"\n", "}\n", " # \n"} {
		smuggled := "x" + end + "expire: {exec: touch pwned}" + end + "kill: {exec: touch pwned}"
		charge := map[string]any{
			"parameters":  []any{map[string]any{"name": "Idempotency-Key" + smuggled, "in": "header"}},
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"example": map[string]any{smuggled: smuggled}}}},
		}
		contract, err := json.Marshal(map[string]any{
			"servers": []any{map[string]any{"url": "http://127.0.0.1" + smuggled}},
			"paths":   map[string]any{"/" + smuggled: map[string]any{"post": charge, "put": charge}, "/{" + smuggled + "}": map[string]any{"post": charge}},
		})
		if err != nil {
			t.Fatal(err)
		}

		status, out := command19(t, "init", "--openapi", write(t, strings.ReplaceAll(string(contract), "\u0085", `\u0085`)))

		var members map[string]any
		if err := yaml.Unmarshal([]byte(out), &members); err != nil || status != kept {
			t.Errorf("%q: status %d, %v: %s", end, status, err, out)
		}
		if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, []string{"do", "effects", "key", "principals", "profile", "server"}) {
			t.Errorf("%q: members %v:\n%s", end, got, out)
		}
	}
}

// A path parameter has a value of the contract, or run says that it is missing.
func TestInit_NamesPathParametersToFillIn(t *testing.T) {
	t.Parallel()
	const contract = `paths:
  /a/{shop}/{cart}/charges:
    parameters: [{name: shop, in: path, schema: {example: tea & co}}, {name: cart, in: path, schema: {type: string}}]
    post: {parameters: [{name: Idempotency-Key, in: header}]}
`
	_, out := command19(t, "init", "--openapi", write(t, contract))
	if want := `path: '/a/tea%20&%20co/{cart}/charges'`; strings.Count(out, want) != 1 || !strings.Contains(out, "# put a value in place of each {name}") {
		t.Errorf("%q is missing:\n%s", want, out)
	}
	_, err := parse(write(t, out))
	if want := `put a value in place of {cart}, or capture one in before and write ${cart}`; err == nil || strings.Count(err.Error(), want) != 2 {
		t.Errorf("%v, want %q twice", err, want)
	}
	_, out = command19(t, "init", "--openapi", write(t, contract+"  /charges: {post: {parameters: [{name: Idempotency-Key, in: header}]}}"))
	if want := "do: {method: POST, path: /charges,"; !strings.Contains(out, want) {
		t.Errorf("%q is missing:\n%s", want, out)
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
