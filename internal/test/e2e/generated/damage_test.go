package generated_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// damage breaks a valid request in one way.
type damage struct {
	kind  string
	apply func(t *rapid.T, r *request)
	// want is the status and the code of the refusal, pointer the member that it names.
	want, pointer string
}

// damages returns every way to break a request of an operation.
func (op operation) damages() []damage {
	return slices.Concat(op.routeDamages(), op.accessDamages(), op.keyDamages(), op.parameterDamages(),
		op.formDamages(), op.textDamages(), op.bodyDamages(), op.webhookDamages())
}

func (op operation) routeDamages() []damage {
	others := slices.DeleteFunc([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"},
		func(method string) bool { return slices.Contains(op.methods, method) })
	return []damage{
		{"wrong method", func(t *rapid.T, r *request) { r.method = rapid.SampledFrom(others).Draw(t, "method") }, "405 method_not_allowed", ""},
		{"unknown path", func(_ *rapid.T, r *request) { r.query, r.suffix = nil, "/nowhere/at/all" }, "404 not_found", ""},
	}
}

func (op operation) accessDamages() []damage {
	if len(op.Roles) == 0 {
		return nil
	}
	authorization := func(values ...string) func(*rapid.T, *request) {
		return func(_ *rapid.T, r *request) { r.header["Authorization"] = values }
	}
	good := "Bearer " + op.tokens[op.Roles[0]]
	forged := good[:len(good)-10] + strings.Repeat("A", 10)
	found := []damage{{"token in the query", func(_ *rapid.T, r *request) { r.query.Set("access_token", "x") }, "401 unauthenticated", ""}}
	for kind, values := range map[string][]string{
		"no token": {}, "garbage for a token": {"Bearer garbage"}, "forged token": {forged}, "two tokens": {good, good},
		"other scheme": {"Basic " + good[len("Bearer "):]}, "half a token": {good[:len(good)/2]},
	} {
		found = append(found, damage{kind, authorization(values...), "401 unauthenticated", ""})
	}
	for role, token := range op.tokens {
		if !slices.Contains(op.Roles, role) {
			found = append(found, damage{"wrong role", authorization("Bearer " + token), "403 forbidden_role", ""})
		}
	}
	return found
}

func (op operation) keyDamages() []damage {
	if !op.Idempotent {
		return nil
	}
	key := func(values ...string) func(*rapid.T, *request) {
		return func(_ *rapid.T, r *request) { r.header["Idempotency-Key"] = values }
	}
	const required, invalid = "400 idempotency_key_required", "400 idempotency_key_invalid"
	return []damage{
		{"no key", key(), required, ""}, {"blank key", key(` `), required, ""}, {"empty key in quotes", key(`""`), required, ""},
		{"two keys", key("a", "b"), invalid, ""}, {"key too long", key(strings.Repeat("k", 256)), invalid, ""},
		{"wrong character in key", func(t *rapid.T, r *request) {
			r.header.Set("Idempotency-Key", "k"+rapid.StringMatching(`[",;\\ é]`).Draw(t, "character")+"k")
		}, invalid, ""},
	}
}

// parameterDamages returns breaches of the schemas of parameters. A path that cannot name
// a resource is 404, unless the client chose the name.
func (op operation) parameterDamages() []damage {
	var found []damage
	for _, p := range op.in("path") {
		refusal := "404 not_found"
		switch p.Name {
		case "sku", "customer_id":
			refusal = "422 validation_failed"
		case "key":
			refusal = "400 idempotency_key_invalid"
		}
		found = append(found, damage{"wrong " + p.Name + " in path", func(t *rapid.T, r *request) {
			r.path[p.Name] = wrongText(t, p.Schema.Value, 1)
			if p.Name == "key" { // spaces around a key are dropped, as in the header
				r.path[p.Name] = "k" + r.path[p.Name] + "k"
			}
		}, refusal, ""})
	}
	for _, p := range op.in("query") {
		found = append(found, damage{"wrong " + p.Name + " in query", func(t *rapid.T, r *request) {
			r.query.Set(p.Name, wrongText(t, p.Schema.Value, 0))
		}, "422 validation_failed", "#/" + p.Name}, damage{p.Name + " twice in query", func(t *rapid.T, r *request) {
			once := text(someValue(t, p.Schema.Value))
			r.query[p.Name] = []string{once, once}
		}, "422 validation_failed", "#/" + p.Name})
	}
	if len(op.Roles) > 0 {
		found = append(found, damage{"unknown parameter", func(t *rapid.T, r *request) {
			r.query.Set(rapid.SampledFrom([]string{"unknown", "Limit", "status_", "dry_run"}).Draw(t, "name"), "1")
		}, "422 validation_failed", ""})
	}
	for _, p := range op.in("header") {
		if p.Name == "If-Match" {
			found = append(found, damage{"wrong If-Match", func(t *rapid.T, r *request) {
				r.header.Set("If-Match", rapid.SampledFrom([]string{`3`, `"3`, `*, "3"`, `w/"3"`, `"3" "4"`, `"é"`}).Draw(t, "tags"))
			}, "400 malformed_request", ""})
		}
	}
	return found
}

// wrongText draws the text of a parameter that does not follow its schema.
func wrongText(t *rapid.T, schema *openapi3.Schema, minLength int) string {
	if schema.Type.Is(openapi3.TypeInteger) {
		wrong := []string{"one", "1.5", "1e0", "0x1", " 1", "9223372036854775808", text(leastOf(schema) - 1)}
		if schema.Max != nil {
			wrong = append(wrong, text(mostOf(schema)+1))
		}
		return rapid.SampledFrom(wrong).Draw(t, "integer")
	}
	if len(schema.Enum) > 0 {
		return rapid.SampledFrom([]string{"", "none", strings.ToUpper(fmt.Sprint(schema.Enum[0]))}).Draw(t, "enum")
	}
	return contradicting(schema).Filter(func(s string) bool { return len(s) >= minLength && s != "." && s != ".." }).Draw(t, "text")
}

// formDamages returns bodies that are not what their headers say, or too large.
func (op operation) formDamages() []damage {
	if !op.takesJSON() {
		return nil
	}
	found := []damage{{"oversize body", func(_ *rapid.T, r *request) {
		r.text = new(jsonOf(r.body) + strings.Repeat(" ", 64<<10))
	}, "413 body_too_large", ""}}
	if op.body.Required {
		found = append(found, damage{"no body", func(_ *rapid.T, r *request) { r.text = new("") }, "400 malformed_request", ""})
	}
	for kind, header := range map[string]http.Header{
		"no media type": {"Content-Type": {}}, "other media type": {"Content-Type": {"text/plain"}},
		"other charset": {"Content-Type": {"application/json; charset=koi8-r"}}, "compressed": {"Content-Encoding": {"gzip"}},
	} {
		found = append(found, damage{kind, func(_ *rapid.T, r *request) { maps.Copy(r.header, header) }, "415 unsupported_media_type", ""})
	}
	return found
}

// textDamages returns bodies that are no JSON, or JSON that parsers read differently.
func (op operation) textDamages() []damage {
	if !op.takesJSON() {
		return nil
	}
	var found []damage
	for kind, spoil := range map[string]func(t *rapid.T, body string) string{
		"truncated": func(t *rapid.T, body string) string { return body[:rapid.IntRange(1, len(body)-1).Draw(t, "length")] },
		"trailing data": func(t *rapid.T, body string) string {
			return body + rapid.SampledFrom([]string{"{}", "x", "]", ",", "null", "\x00"}).Draw(t, "data")
		},
		"duplicate member":  func(*rapid.T, string) string { return `{"reason": "a", "\u0072eason": "a"}` },
		"duplicate below":   func(_ *rapid.T, body string) string { return `{"x": {"y": 1, "y": 1}, "z": ` + body + "}" },
		"bad UTF-8":         func(*rapid.T, string) string { return "{\"reason\": \"\xff\"}" },
		"lone surrogate":    func(*rapid.T, string) string { return `{"reason": "\ud800"}` },
		"byte order mark":   func(_ *rapid.T, body string) string { return "\ufeff" + body },
		"too many values":   func(*rapid.T, string) string { return `{"items": [` + strings.Repeat(`{}, `, 10_000) + `{}]}` },
		"too many levels":   func(*rapid.T, string) string { return strings.Repeat(`{"amount":`, 17) + `1` + strings.Repeat(`}`, 17) },
		"unreadable number": wrongNumber,
	} {
		found = append(found, damage{kind, func(t *rapid.T, r *request) { r.text = new(spoil(t, jsonOf(r.body))) }, "400 malformed_request", ""})
	}
	return found
}

func wrongNumber(t *rapid.T, _ string) string {
	number := rapid.SampledFrom([]string{
		"1e400", "1e-400", "-1e999999999", "9007199254740993", "0.1234567890123456789", strings.Repeat("9", 5000), "NaN", "01", "+1", "1.", ".5",
	}).Draw(t, "number")
	return `{"change": ` + number + `}`
}

// bodyDamages returns the breaches of the schema of the body.
func (op operation) bodyDamages() []damage {
	if !op.takesJSON() {
		return nil
	}
	var found []damage
	for _, b := range breaches(op.schema().Value, nil) {
		found = append(found, damage{b.kind, func(t *rapid.T, r *request) {
			value := op.broken(t, b)
			if op.service.Contract.Allows(op.schema(), value) {
				t.Fatalf("%s at %v is allowed: %v", b.kind, b.at, value)
			}
			r.text = new(jsonOf(value))
		}, "422 validation_failed", cmp.Or(strings.TrimSuffix("#/"+strings.Join(b.at, "/"), "#/"), "#")})
	}
	return found
}

// broken draws a body with a breach. It has the objects and lists around the breach.
func (op operation) broken(t *rapid.T, b breach) any {
	if len(b.at) == 0 {
		return b.with(t)
	}
	above, last := b.at[:len(b.at)-1], b.at[len(b.at)-1]
	body := op.bodies(kept).draw(t, func(body map[string]any) bool {
		return find(body, above) != nil && (b.of == nil || op.service.Contract.Allows(b.of, body))
	})
	switch parent := find(body, above).(type) {
	case map[string]any:
		delete(parent, last)
		if b.with != nil {
			parent[last] = b.with(t)
		}
	case []any:
		parent[0] = b.with(t)
	}
	return body
}

// find returns the value at a place of a body, or nil. The place in a list is the first.
func find(value any, at []string) any {
	for _, name := range at {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[name]
		case []any:
			value = parent[0]
		}
	}
	return value
}

func (op operation) webhookDamages() []damage {
	if !op.isWebhook() {
		return nil
	}
	var found []damage
	for kind, signature := range map[string][]string{
		"no signature": {}, "forged signature": {"t=1700000000,v1=" + strings.Repeat("0", 64)}, "garbage for a signature": {"v1"},
	} {
		found = append(found, damage{kind, func(_ *rapid.T, r *request) { r.header["Stripe-Signature"] = signature }, "400 malformed_request", ""})
	}
	return append(found, damage{"oversize body", func(_ *rapid.T, r *request) {
		r.text = new(jsonOf(r.body) + strings.Repeat(" ", 256<<10))
	}, "413 body_too_large", ""})
}
