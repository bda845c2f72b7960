package generated_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"example.com/orders/internal/dev/fakestripe"
	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
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
	prepared routes.Command
	tokens   map[string]string
}

// methodsOf returns the methods that a path supports, sorted: HEAD wherever GET is.
func methodsOf(item *openapi3.PathItem) []string {
	methods := slices.Collect(maps.Keys(item.Operations()))
	if item.Get != nil {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return methods
}

// operations returns every operation of the contract, in the order of their ids.
func operations(s *e2e.Service) []contracttest.Operation {
	return slices.SortedFunc(slices.Values(s.Contract.Operations()), func(a, b contracttest.Operation) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// prepare makes everything exist that a valid request needs.
func prepare(t testing.TB, s *e2e.Service, declared contracttest.Operation) operation {
	t.Helper()
	item := s.Contract.Document().Paths.Value(declared.Path)
	op := operation{
		Operation: declared, service: s, methods: methodsOf(item),
		parameters: append(slices.Clone(item.Parameters), item.GetOperation(declared.Method).Parameters...),
		prepared:   routes.Prepare(t, s, declared.ID),
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
	return op
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

// In how many of ten requests a member keeps the value that was prepared: in most, so that
// many requests succeed, and in all that are broken elsewhere.
const kept, always = 8, 10

// bodies draws bodies that a schema allows.
type bodies struct {
	contract *contracttest.Validator
	schema   *openapi3.SchemaRef
	// prepared is a body that the service accepts. Its members are kept so often.
	prepared map[string]any
	kept     int
}

// maxDraws is how often a body is drawn until it fits.
const maxDraws = 1000

// draw draws a valid body that fits. Rules across members, such as that a card needs a
// token, are met by drawing until the contract allows the body.
func (b bodies) draw(t *rapid.T, fits func(body map[string]any) bool) map[string]any {
	for range maxDraws {
		body := someMembers(t, b.schema.Value)
		for _, name := range slices.Sorted(maps.Keys(b.prepared)) {
			if _, drawn := body[name]; drawn && chance(t, b.kept) {
				body[name] = b.prepared[name]
			}
		}
		if b.contract.Allows(b.schema, body) && fits(body) {
			return body
		}
	}
	t.Fatal("no body fits")
	return nil
}

func anyBody(map[string]any) bool { return true }

func chance(t *rapid.T, ofTen int) bool { return rapid.IntRange(1, 10).Draw(t, "chance") <= ofTen }

// someMembers draws the required members of an object, and some of the others. Where there
// is a choice of objects, it draws one of them.
func someMembers(t *rapid.T, schema *openapi3.Schema) map[string]any {
	members := map[string]any{}
	if len(schema.OneOf) > 0 {
		schema = rapid.SampledFrom(schema.OneOf).Draw(t, "choice").Value
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(schema.Required, name) || chance(t, 5) {
			members[name] = someValue(t, schema.Properties[name].Value)
		}
	}
	if open := schema.AdditionalProperties.Has; open != nil && *open { // an event of the provider
		members["id"] = rapid.StringMatching(`evt_[a-z]{1,9}`).Draw(t, "id")
		members["type"] = rapid.SampledFrom([]string{"customer.created", "refund.updated", "payment_intent.succeeded"}).Draw(t, "type")
	}
	return members
}

// someValue draws a value that follows a schema. Numbers and lengths are often at their
// bounds.
func someValue(t *rapid.T, schema *openapi3.Schema) any {
	switch {
	case len(schema.Enum) > 0:
		return rapid.SampledFrom(schema.Enum).Draw(t, "enum")
	case schema.Type.Is(openapi3.TypeObject):
		return someMembers(t, schema)
	case schema.Type.Is(openapi3.TypeArray):
		least, most := int(schema.MinItems), int(*schema.MaxItems)
		n := rapid.OneOf(rapid.IntRange(least, least+2), rapid.Just(most)).Draw(t, "items")
		items := make([]any, n)
		for i := range items {
			items[i] = someValue(t, schema.Items.Value)
		}
		return items
	case schema.Type.Is(openapi3.TypeInteger):
		return rapid.Int64Range(leastOf(schema), mostOf(schema)).Draw(t, "integer")
	}
	return someString(schema).Draw(t, "string")
}

func leastOf(schema *openapi3.Schema) int64 { return int64(*schema.Min) }

// mostOf returns the maximum of an integer. Without one it is that of a 64-bit integer
// which a JSON number holds.
func mostOf(schema *openapi3.Schema) int64 {
	if schema.Max == nil {
		return 1 << 53
	}
	return int64(*schema.Max)
}

// someString draws a string of the permitted characters and lengths.
func someString(schema *openapi3.Schema) *rapid.Generator[string] {
	pattern := schema.Pattern
	if pattern == "" {
		pattern = `[ -~]*`
	}
	drawn := rapid.StringMatching(pattern)
	switch schema.Format { // says more than a pattern can
	case "date-time":
		return rapid.Map(rapid.Int64Range(0, 4e9), func(second int64) string {
			return time.Unix(second, 0).UTC().Format(time.RFC3339)
		})
	case "reference":
		return rapid.StringMatching(`[!-~а-яÀ-ÿ漢字]( ?[!-~а-яÀ-ÿ漢字]){0,31}`)
	}
	if schema.MaxLength == nil {
		return drawn
	}
	most := int(*schema.MaxLength)
	fits := drawn.Filter(func(s string) bool {
		return utf8.RuneCountInString(s) >= int(schema.MinLength) && utf8.RuneCountInString(s) <= most
	})
	if longest := strings.Repeat("я", most); regexp.MustCompile(pattern).MatchString(longest) {
		return rapid.OneOf(fits, fits, rapid.Just(longest))
	}
	return fits
}

// breach is one way to contradict a schema.
type breach struct {
	kind string
	// at is the place of the member, from the root of the body.
	at []string
	// with draws what to put there. It is nil for a member to remove.
	with func(t *rapid.T) any
	// of is the schema that the body must follow before, if there is a choice.
	of *openapi3.SchemaRef
}

// breaches returns every way to contradict a schema at one place, one for each rule.
func breaches(schema *openapi3.Schema, at []string) []breach {
	if len(schema.OneOf) > 0 {
		return breachesOfChoices(schema.OneOf, at)
	}
	found := []breach{{kind: "wrong type", at: at, with: otherType(schema)}}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		member := append(slices.Clone(at), name)
		if slices.Contains(schema.Required, name) {
			found = append(found, breach{kind: "missing member", at: member, with: nil})
		}
		found = append(found, breaches(schema.Properties[name].Value, member)...)
	}
	if schema.Type.Is(openapi3.TypeObject) {
		found = append(found, breach{kind: "unknown member", at: append(slices.Clone(at), "unknown"), with: just(true)})
	}
	if schema.Items != nil {
		found = append(found, breaches(schema.Items.Value, append(slices.Clone(at), "0"))...)
		found = append(found, wrongCounts(schema, at)...)
	}
	if schema.Type.Is(openapi3.TypeInteger) {
		found = append(found, breach{kind: "below minimum", at: at, with: just(leastOf(schema) - 1)})
	}
	if schema.Type.Is(openapi3.TypeBoolean) && len(schema.Enum) == 1 {
		found = append(found, breach{kind: "not in enum", at: at, with: just(schema.Enum[0] != true)})
	}
	if schema.Max != nil {
		found = append(found, breach{kind: "above maximum", at: at, with: just(mostOf(schema) + 1)})
	}
	if schema.Type.Is(openapi3.TypeString) {
		found = append(found, wrongStrings(schema, at)...)
	}
	return found
}

func breachesOfChoices(choices openapi3.SchemaRefs, at []string) []breach {
	var found []breach
	for _, choice := range choices {
		for _, b := range breaches(choice.Value, at) {
			b.of = choice
			found = append(found, b)
		}
	}
	return found
}

func just(v any) func(*rapid.T) any { return func(*rapid.T) any { return v } }

// otherType draws a value of another type.
func otherType(schema *openapi3.Schema) func(*rapid.T) any {
	others := []any{nil, 1.5}
	for _, typed := range []struct {
		name  string
		value any
	}{
		{openapi3.TypeObject, map[string]any{}}, {openapi3.TypeArray, []any{}}, {openapi3.TypeString, "x"}, {openapi3.TypeInteger, 7},
		{openapi3.TypeBoolean, true},
	} {
		if !schema.Type.Is(typed.name) {
			others = append(others, typed.value)
		}
	}
	return func(t *rapid.T) any { return others[rapid.IntRange(0, len(others)-1).Draw(t, "other type")] }
}

// wrongCounts returns the ways to have too few or too many items.
func wrongCounts(schema *openapi3.Schema, at []string) []breach {
	list := func(n int) func(*rapid.T) any {
		return func(t *rapid.T) any {
			items := make([]any, n)
			for i := range items {
				items[i] = someValue(t, schema.Items.Value)
			}
			return items
		}
	}
	return []breach{
		{kind: "too few items", at: at, with: list(int(schema.MinItems) - 1)},
		{kind: "too many items", at: at, with: list(int(*schema.MaxItems) + 1)},
	}
}

// wrongStrings returns the ways to contradict the rules of a string.
func wrongStrings(schema *openapi3.Schema, at []string) []breach {
	var found []breach
	if len(schema.Enum) > 0 {
		found = append(found, breach{kind: "not in enum", at: at, with: just("none of them")})
	}
	if schema.Pattern != "" {
		found = append(found, breach{kind: "pattern", at: at, with: func(t *rapid.T) any { return contradicting(schema).Draw(t, "pattern") }})
	}
	if schema.MinLength > 0 {
		found = append(found, breach{kind: "too short", at: at, with: just(strings.Repeat("a", int(schema.MinLength)-1))})
	}
	if schema.MaxLength != nil {
		found = append(found, breach{kind: "too long", at: at, with: just(strings.Repeat("я", int(*schema.MaxLength)+1))})
	}
	return found
}

// contradicting draws a string that does not follow the pattern of a schema. Digits are
// left out, because the service looks for card numbers first.
func contradicting(schema *openapi3.Schema) *rapid.Generator[string] {
	pattern := regexp.MustCompile(schema.Pattern)
	drawn := rapid.OneOf(
		rapid.StringMatching(`[ -/:-~\x00-\x1f\x7fя€😀]{0,9}`), someString(schema), rapid.Just(strings.Repeat("a", 300)))
	return rapid.Custom(func(t *rapid.T) string {
		return drawn.Draw(t, "text") + rapid.SampledFrom([]string{"", "\n", " ", "\x00", "\x7f", "é"}).Draw(t, "end")
	}).Filter(func(s string) bool { return !pattern.MatchString(s) })
}
