package canaries_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/golang-jwt/jwt/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// planter sends requests with canaries, and keeps the refusals.
type planter struct {
	*e2e.Service
	nest     *nest
	sent     int
	problems []string
	headers  []string
}

// send sends a call and keeps what a person could copy into a ticket: a problem document,
// and the headers of any response.
func (p *planter) send(t testing.TB, c e2e.Call) e2e.Reply {
	t.Helper()
	r := p.Send(t, c)
	p.sent++
	if r.Status >= http.StatusBadRequest {
		p.problems = append(p.problems, withoutMember(string(r.Body), "request_id"))
	}
	r.Header.Del("X-Request-Id")    // the caller's own, if it is plain
	r.Header.Del("Idempotency-Key") // the caller's own
	p.headers = append(p.headers, fmt.Sprint(r.Header))
	return r
}

// operation is an operation of the contract with its place.
type operation struct {
	*openapi3.Operation
	path   string
	inPath openapi3.Parameters
}

func (p *planter) operations() map[string]operation {
	all := map[string]operation{}
	for path, item := range p.Contract.Document().Paths.Map() {
		for _, op := range item.Operations() {
			all[op.OperationID] = operation{op, path, item.Parameters}
		}
	}
	return all
}

// prepared returns a request of an operation that would succeed, with a token.
func (p *planter) prepared(t testing.TB, id string) e2e.Call {
	t.Helper()
	c := routes.Prepare(t, p.Service, id)
	if roles := c.Operation.Roles; len(roles) > 0 && !slices.Contains(roles, c.Role) {
		subject := map[string]string{"customer": c.Customer, "seller": c.Seller, "system": e2e.Bank, "admin": e2e.Root}[roles[0]]
		c.Call.Token = p.Token(t, subject, roles[0])
	}
	return c.Call
}

// withKey returns a call with a key of its own, which is a canary itself.
func (p *planter) withKey(c e2e.Call) e2e.Call {
	return c.WithKey(p.nest.plant("idempotency key", "Idempotency-Key"))
}

// plantEverywhere plants canaries of all sorts in every part of every operation.
func (p *planter) plantEverywhere(t *testing.T) {
	t.Helper()
	operations := p.operations()
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		op := operations[id]
		p.plantInBody(t, id, op)
		p.plantInParameters(t, id, op)
		p.plantInHeaders(t, id)
		p.plantInBrokenBodies(t, id, op)
	}
	p.plantInUnknownPlaces(t)
	p.plantInTokens(t)
}

// plantInBody sends, for each member of the body that the contract has, a canary of each
// sort as its value.
func (p *planter) plantInBody(t *testing.T, id string, op operation) {
	t.Helper()
	if op.RequestBody == nil {
		return
	}
	schema := op.RequestBody.Value.Content.Get("application/json").Schema.Value
	for _, member := range members(schema, nil) {
		call := p.prepared(t, id)
		name := member[len(member)-1]
		for _, sort := range slices.Sorted(maps.Keys(sorts)) {
			p.send(t, p.withKey(call.WithBody(withMember(t, call.Body, member, p.nest.plant(sort, name)))))
		}
	}
}

// members returns the paths to all members of a schema. A list is represented by its first
// item.
func members(schema *openapi3.Schema, at []string) [][]string {
	var all [][]string
	for name, ref := range schema.Properties {
		here := append(slices.Clone(at), name)
		all = append(all, here)
		all = append(all, members(ref.Value, here)...)
	}
	for _, choice := range schema.OneOf {
		all = append(all, members(choice.Value, at)...)
	}
	if schema.Items != nil {
		all = append(all, members(schema.Items.Value, append(slices.Clone(at), "0"))...)
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// withMember returns a body with one more member, or another value of it.
func withMember(t *testing.T, body string, path []string, value string) string {
	t.Helper()
	root := map[string]any{}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &root); err != nil {
			t.Fatal(err)
		}
	}
	if path[0] == "payment_method" {
		root["method"] = "card"
	}
	at := root
	for _, name := range path[:len(path)-1] {
		if name == "0" {
			continue // the list is entered below
		}
		if list, ok := at[name].([]any); ok {
			at, _ = list[0].(map[string]any)
			continue
		}
		inner, ok := at[name].(map[string]any)
		if !ok {
			inner = map[string]any{"amount": "1.00", "currency": "RUB"}
			at[name] = inner
		}
		at = inner
	}
	at[path[len(path)-1]] = value
	changed, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}

// plantInParameters sends a canary of each sort in each parameter of path and query, and in
// parameters that no operation has.
func (p *planter) plantInParameters(t *testing.T, id string, op operation) {
	t.Helper()
	call := p.prepared(t, id)
	for _, ref := range append(slices.Clone(op.inPath), op.Parameters...) {
		for _, sort := range slices.Sorted(maps.Keys(sorts)) {
			switch ref.Value.In {
			case "path":
				c := call
				c.Path = withParameter(call.Path, op.path, ref.Value.Name, p.nest.plant(sort, ref.Value.Name))
				p.send(t, p.withKey(c))
			case "query":
				p.sendQuery(t, call, ref.Value.Name, sort)
			}
		}
	}
	for _, name := range []string{"access_token", "api_key", "email", "idempotency_key"} {
		for _, sort := range []string{"bearer token", "e-mail", cardNumber} {
			p.sendQuery(t, call, name, sort)
		}
	}
}

func (p *planter) sendQuery(t *testing.T, c e2e.Call, name, sort string) {
	t.Helper()
	c.Path += "?" + url.Values{name: {p.nest.plant(sort, "query "+name)}}.Encode()
	p.send(t, p.withKey(c))
}

// withParameter returns a path with another value of a parameter of its template.
func withParameter(path, template, name, value string) string {
	values, names := strings.Split(path, "/"), strings.Split(template, "/")
	if i := slices.Index(names, "{"+name+"}"); i >= 0 && len(values) == len(names) {
		values[i] = url.PathEscape(value)
	}
	return strings.Join(values, "/")
}

// headerNames are the headers that clients and proxies send.
var headerNames = []string{
	"User-Agent", "Cookie", "Referer", "Origin", "traceparent", "tracestate", "baggage", "X-Forwarded-For", "Forwarded", "X-Api-Key",
	"X-Request-Id", "X-Correlation-Id", "Accept", "Accept-Language", "If-Match", "If-None-Match", "Content-Type", "Content-Encoding",
	"Authorization", "Proxy-Authorization", "Idempotency-Key", "Stripe-Signature", "X-Unknown",
}

// plantInHeaders sends a canary in each header. The sorts take turns.
func (p *planter) plantInHeaders(t *testing.T, id string) {
	t.Helper()
	call, names := p.prepared(t, id), slices.Sorted(maps.Keys(sorts))
	for i, header := range headerNames {
		for turn := range 3 {
			sort := names[(i+len(id)+turn*5)%len(names)]
			p.send(t, p.withKey(call).WithHeader(header, p.nest.plant(sort, header)))
		}
	}
	for _, scheme := range []string{"Bearer ", "Basic ", "bearer a.b.", ""} {
		p.send(t, p.withKey(call).WithHeader("Authorization", scheme+p.nest.plant("bearer token", "Authorization")))
	}
}

// plantInBrokenBodies sends canaries in bodies that nobody can read. The sorts take turns.
func (p *planter) plantInBrokenBodies(t *testing.T, id string, op operation) {
	t.Helper()
	if op.RequestBody == nil {
		return
	}
	call, names := p.prepared(t, id), slices.Sorted(maps.Keys(sorts))
	for i, form := range []string{
		`{"reason": %q`, `%q`, `[%q]`, `{"reason": {"nested": %q}}`, `{"reason": [%q]}`, `{"amount": {"amount": {"amount": %q}}}`,
		`{"a": 1, "a": %q}`, `{"a": %q} {}`, `{"a": %q, "b": 1e999}`, `%s`,
	} {
		for turn := range 4 {
			sort := names[(i+turn*3)%len(names)]
			p.send(t, p.withKey(call.WithBody(fmt.Sprintf(form, p.nest.plant(sort, "a broken body")))))
		}
	}
	for _, sort := range names {
		p.send(t, p.withKey(call.WithBody(fmt.Sprintf(`{%q: 1}`, p.nest.plant(sort, "a name of a member")))))
	}
}

// plantInUnknownPlaces sends canaries as methods and as paths that do not exist.
func (p *planter) plantInUnknownPlaces(t *testing.T) {
	t.Helper()
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		path := url.PathEscape(p.nest.plant(sort, "an unknown path"))
		for _, c := range []e2e.Call{
			{Method: "GET", Path: "/" + path}, {Method: "GET", Path: "/orders/1/" + path}, {Method: "POST", Path: "/customers/" + path},
			{Method: "DELETE", Path: "/customers/" + url.PathEscape(p.nest.plant(sort, "customer_id")) + "/balance"}, {Method: "GET", Path: "/docs/" + path}, {Method: "PUT", Path: "/" + path + "/" + path},
		} {
			p.send(t, c)
		}
		if method := p.nest.plant(sort, "a method"); !strings.ContainsAny(method, " @+") {
			p.send(t, e2e.Call{Method: method, Path: "/orders"})
		}
	}
}

// plantInTokens sends tokens with a canary in the header, and tokens that the issuer has
// signed with one in a claim. All are refused, for their role at last.
func (p *planter) plantInTokens(t *testing.T) {
	t.Helper()
	id, key := p.Issuer.Key()
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		for _, name := range []string{"alg", "kid", "typ", "crit", "iss", "aud", "exp", "nbf", "iat", "nonce", "roles"} {
			token := jwt.NewWithClaims(jwt.SigningMethodES256, p.Issuer.Claims(e2e.Alice, nil, time.Hour))
			token.Header["kid"] = id
			claims := token.Claims.(jwt.MapClaims)
			if value := p.nest.plant(sort, "token "+name); slices.Contains([]string{"alg", "kid", "typ", "crit"}, name) {
				token.Header[name] = value
			} else {
				claims[name] = value
			}
			signed, err := token.SignedString(key)
			if err != nil {
				t.Fatal(err)
			}
			if r := p.send(t, e2e.Get(signed, "/customers/alice/balance")); r.Status != http.StatusUnauthorized && r.Status != http.StatusForbidden {
				t.Errorf("a token with a canary as %s: %d", name, r.Status)
			}
		}
	}
}

// plantAsSubject lets customers act whose subject is an e-mail address or a telephone
// number, and one whose subject is a card number.
func (p *planter) plantAsSubject(t *testing.T) {
	t.Helper()
	p.PutProduct(t, "tea-of-canaries", 1000)
	for _, sort := range []string{"e-mail", "telephone number", cardNumber, "card number in parts"} {
		subject := p.nest.plant(sort, "sub")
		token, path := p.Token(t, subject, "customer"), "/customers/"+url.PathEscape(subject)
		p.send(t, p.withKey(e2e.Call{Method: "POST", Path: "/orders", Token: token, Body: `{"items": [{"sku": "tea-of-canaries", "quantity": 1}]}`}))
		p.send(t, e2e.Call{Method: "PUT", Path: path + "/profile", Token: token, Body: routes.ProfileBody})
		p.send(t, e2e.Get(token, path+"/balance"))
		p.send(t, e2e.Get(token, path+"/audit"))
		p.send(t, e2e.Get(p.Token(t, e2e.Mallory, "customer"), path+"/profile"))
		p.send(t, e2e.Get(p.AdminToken(t), path+"/profile"))
	}
}

// cached are the operations whose responses are the same for everybody.
var cached = map[string]string{
	"getOpenAPI": "no-cache", "getDocs": "no-cache", "getDocsAsset": "public, max-age=3600",
}

// wantSecure checks the security headers of a response.
func wantSecure(t *testing.T, what string, r e2e.Reply, caching string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": caching,
		"Server": "", "X-Powered-By": "",
	} {
		if got := strings.Join(r.Header.Values(name), " | "); got != want {
			t.Errorf("%s: status %d: %s is %q, want %q", what, r.Status, name, got, want)
		}
	}
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s: status %d: the policy is %q", what, r.Status, policy)
	}
}

func TestHeaders_ProtectEveryResponse(t *testing.T) {
	t.Parallel()
	p := &planter{Service: e2e.Start(t), nest: &nest{}}
	for id, op := range p.operations() {
		call := p.prepared(t, id).WithKey(p.NewKey())
		caching := "no-store"
		if cached[id] != "" {
			caching = cached[id]
		}
		first := p.Send(t, call)
		wantSecure(t, id, first, caching)
		if replay := p.Send(t, call); replay.Replayed() {
			wantSecure(t, id+", replayed", replay, "no-store")
			if !replay.SameAs(first) || replay.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
				t.Errorf("%s: the replay differs: %s", id, replay.Body)
			}
		}
		if op.Security == nil { // a token is required
			wantSecure(t, id+" without a token", p.Send(t, call.WithToken("")), "no-store")
			wantSecure(t, id+" with a broken body", p.Send(t, call.WithKey(p.NewKey()).WithBody("{")), "no-store")
		}
	}
	wantSecure(t, "an unknown path", p.Send(t, e2e.Get("", "/no/such/path")), "no-store")
	wantSecure(t, "an unknown file", p.Send(t, e2e.Get("", "/docs/nothing.js")), "no-store")
	wantSecure(t, "an unknown method", p.Send(t, e2e.Call{Method: "DELETE", Path: "/openapi.yaml"}), "no-store")
	conditional := e2e.Get("", "/openapi.yaml").WithHeader("If-None-Match", p.Send(t, e2e.Get("", "/openapi.yaml")).Header.Get("ETag"))
	if r := p.Send(t, conditional); r.Status != http.StatusNotModified {
		t.Errorf("status %d, want 304", r.Status)
	} else {
		wantSecure(t, "a contract that has not changed", r, "no-cache")
	}
}

// Keys, SKUs and references that a program counts or draws look like card numbers now and
// then. They work like any other, and no problem repeats a path with one.
func TestCardNumber_IsNoRefusedKeySKUOrReference(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	const number = "4242424242424242"
	s.MustSend(t, e2e.Call{Method: http.MethodPut, Path: "/products/" + number, Token: s.SellerToken(t),
		Body: `{"name": "Tea", "price": {"amount": "100.00", "currency": "RUB"}, "on_hand": 10}`})
	s.MustSend(t, e2e.Get(s.SellerToken(t), "/products/"+number))
	order := s.CreateOrderCall(t, e2e.Alice, number, 1).WithKey(number).
		WithBody(`{"reference": "` + number + `", "items": [{"sku": "` + number + `", "quantity": 1}]}`)
	created := s.MustSend(t, order)
	if again := s.Send(t, order); !again.Replayed() || !again.SameAs(created) {
		t.Errorf("the retry: %d %s", again.Status, again.Body)
	}
	s.MustSend(t, e2e.LookupCall(order.Token, number))
	if found := s.MustSend(t, e2e.Get(order.Token, "/orders?reference="+number)); !strings.Contains(string(found.Body), number) {
		t.Errorf("the order is not found by its reference: %s", found.Body)
	}
	for path, want := range map[string]string{
		"/orders/" + number: "404 not_found", "/" + number: "404 not_found", "/products?cursor=" + number: "422 validation_failed",
	} {
		if r := s.Send(t, e2e.Get(s.AdminToken(t), path)); r.Verdict() != want || strings.Contains(string(r.Body), number) {
			t.Errorf("%s: %s, want %s: %s", path, r.Verdict(), want, r.Body)
		}
	}
}

// An issuer that numbers its subjects makes some that look like card numbers.
func TestSubject_MayLookLikeACardNumber(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 5})
	for _, subject := range []string{"4111111111111111", "user-4111111111111111"} {
		s.Credit(t, subject, "500.00")
		o := s.MustCreateOrder(t, subject, "tea", 1)
		e2e.Want[e2e.Payment](t, s, http.StatusOK, s.ConfirmCall(t, subject, o.ID))
		s.WantBalance(t, subject, "400.00")
		s.MustSend(t, e2e.Get(s.AdminToken(t), "/orders?customer_id="+subject))
	}
}
