package generated_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"example.com/orders/internal/dev/fakestripe"
	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
)

// operation is an operation of the contract, prepared: everything that a valid request
// needs exists.
type operation struct {
	contracttest.Operation
	service    *e2e.Service
	parameters openapi3.Parameters
	// body is nil where the operation has none.
	body *openapi3.RequestBody
	// methods are those of the path.
	methods []string
	// prepared is a request that the service accepts, tokens are those of the owner by role.
	prepared e2e.Command
	tokens   map[string]string
}

// prepare prepares every operation of the contract.
func prepare(t testing.TB, s *e2e.Service) []operation {
	t.Helper()
	var all []operation
	paths := s.Contract.Document().Paths
	for _, declared := range s.Contract.Operations() {
		item := paths.Value(declared.Path)
		op := operation{
			Operation: declared, service: s, methods: slices.Sorted(maps.Keys(item.Operations())),
			parameters: append(slices.Clone(item.Parameters), item.GetOperation(declared.Method).Parameters...),
			prepared:   s.Prepare(t, declared.ID),
		}
		if body := item.GetOperation(declared.Method).RequestBody; body != nil {
			op.body = body.Value
		}
		c := op.prepared
		op.tokens = map[string]string{
			"customer": s.Token(t, c.Customer, "customer"), "seller": s.Token(t, c.Seller, "seller"),
			"admin": s.AdminToken(t), "system": s.SystemToken(t),
		}
		if c.Role != "" {
			op.tokens[c.Role] = c.Call.Token
		}
		all = append(all, op)
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// in returns the parameters at a place: path, query or header.
func (op operation) in(place string) []*openapi3.Parameter {
	var found []*openapi3.Parameter
	for _, p := range op.parameters {
		if p.Value.In == place {
			found = append(found, p.Value)
		}
	}
	return found
}

// takesJSON reports whether the operation has a body that the service validates. The
// provider's events have a signature instead.
func (op operation) takesJSON() bool { return op.body != nil && !op.isWebhook() }

func (op operation) isWebhook() bool { return op.ID == "takeStripeWebhook" }

func (op operation) schema() *openapi3.SchemaRef { return op.body.Content["application/json"].Schema }

func (op operation) bodies(kept int) bodies {
	b := bodies{contract: op.service.Contract, schema: op.schema(), kept: kept}
	_ = json.Unmarshal([]byte(op.prepared.Call.Body), &b.prepared) // an absent body has no members
	return b
}

// request is a request that can still be damaged.
type request struct {
	method string
	path   map[string]string
	query  url.Values
	header http.Header
	body   map[string]any
	// text is sent instead of the body, suffix is appended to the path.
	text   *string
	suffix string
}

// valid draws a valid request by one of the permitted roles. So many of ten are about what
// was prepared.
func (op operation) valid(t *rapid.T, kept int) request {
	r := request{method: op.Method, path: op.pathValues(), query: url.Values{}, header: op.prepared.Call.Header.Clone()}
	if r.header == nil {
		r.header = http.Header{}
	}
	for _, p := range op.in("path") {
		if !chance(t, kept) {
			r.path[p.Name] = text(someValue(t, p.Schema.Value))
		}
	}
	for _, p := range op.in("query") {
		if p.Name != "cursor" && chance(t, 3) { // the service makes cursors, and no pattern does
			r.query.Set(p.Name, text(someValue(t, p.Schema.Value)))
		}
	}
	if len(op.Roles) > 0 {
		r.header.Set("Authorization", "Bearer "+op.tokens[op.role(t, kept)])
	}
	if op.Idempotent {
		r.header.Set("Idempotency-Key", op.service.NewKey()+rapid.StringMatching(`[!#-+\--:<-\[\]-~]{0,230}`).Draw(t, "key"))
	}
	if op.body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body = op.bodies(kept).draw(t, anyBody)
	}
	return r
}

// role draws a permitted role, so many times of ten that of the prepared request.
func (op operation) role(t *rapid.T, kept int) string {
	if slices.Contains(op.Roles, op.prepared.Role) && chance(t, kept) {
		return op.prepared.Role
	}
	return rapid.SampledFrom(op.Roles).Draw(t, "role")
}

// pathValues returns the values of the parameters in the prepared path.
func (op operation) pathValues() map[string]string {
	values := map[string]string{}
	segments := strings.Split(op.prepared.Call.Path, "/")
	for i, segment := range strings.Split(op.Path, "/") {
		if strings.HasPrefix(segment, "{") {
			values[strings.Trim(segment, "{}")] = segments[i]
		}
	}
	return values
}

// text writes a value as a parameter.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return jsonOf(v)
}

func jsonOf(v any) string {
	written, _ := json.Marshal(v) // values of schemas can be marshalled
	return string(written)
}

// call returns the request as it is sent. A webhook is signed, unless its signature was
// damaged.
func (op operation) call(r request) e2e.Call {
	path := op.Path
	for name, value := range r.path {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	c := e2e.Call{Method: r.method, Path: path + r.suffix, Header: r.header}
	switch {
	case r.text != nil:
		c.Body = *r.text
	case op.body != nil:
		c.Body = jsonOf(r.body)
	}
	if op.isWebhook() && r.header["Stripe-Signature"] == nil {
		c.Header.Set("Stripe-Signature", fakestripe.Sign(e2e.WebhookSecret, []byte(c.Body), time.Now()))
	}
	return c
}
