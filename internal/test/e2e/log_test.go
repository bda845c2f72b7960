package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
)

// logged starts a replica whose log is kept.
func (w *world) logged() (*service, *lockedBuffer) {
	w.Helper()
	cfg, err := config.Read(w.environ())
	if err != nil {
		w.Fatal(err)
	}
	log := &lockedBuffer{}
	a, err := app.New(w.Context(), cfg, app.NewLog(cfg, log))
	if err != nil {
		w.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	w.Cleanup(func() {
		server.Close()
		a.Close()
	})
	return &service{world: w, url: server.URL, app: a, cfg: cfg}, log
}

// lineOf waits for the line of a request. There must be one, and no other.
func lineOf(t *testing.T, log *lockedBuffer, requestID string) map[string]any {
	t.Helper()
	var found []map[string]any
	eventually(t, "the request has a line in the log", func() bool {
		found = nil
		for text := range strings.Lines(log.String()) {
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%v in the line %s", err, text)
			}
			if line["request_id"] == requestID {
				found = append(found, line)
			}
		}
		return len(found) > 0
	})
	if len(found) > 1 {
		t.Errorf("the request has %d lines: %v", len(found), found)
	}
	return found[0]
}

func TestEveryRequestHasOneLineInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, log := w.logged()
	s.putProduct("tea", 10)
	order := s.orderCall(alice, "tea", 1, "key-of-the-log-test")
	const digest = "3b8b5226417b" // of the key above, by SHA-256
	other := order
	other.body = strings.Replace(order.body, "1", "2", 1)
	tooMany := s.orderCall(alice, "tea", 1000, "key-of-the-log-test-2")
	late := s.creditCall(alice, "1.00", "key-of-the-log-test")
	type fields map[string]any
	for _, c := range []struct {
		name string
		call call
		want fields
	}{
		{"a command", order, fields{"level": "info", "method": "POST", "route": "/orders", "status": 201.0, "principal": alice, "idempotency": "created", "key_sha256": digest}},
		{"its replay", order, fields{"level": "info", "method": "POST", "route": "/orders", "status": 201.0, "principal": alice, "idempotency": "reused", "key_sha256": digest}},
		{"its key for something else", other, fields{"level": "info", "method": "POST", "route": "/orders", "status": 409.0, "principal": alice, "code": "idempotency_key_reused", "key_sha256": digest}},
		{"the key of somebody else", late, fields{"level": "info", "method": "POST", "route": "/customers/{customer_id}/balance/credit", "status": 201.0, "principal": bank, "idempotency": "created", "key_sha256": digest}},
		{"a refusal that is kept", tooMany, fields{"level": "info", "method": "POST", "route": "/orders", "status": 409.0, "principal": alice, "code": "out_of_stock", "idempotency": "created", "key_sha256": "*"}},
		{"a question", get(s.token(alice, "customer"), "/orders/999999"), fields{"level": "info", "method": "GET", "route": "/orders/{order_id}", "status": 404.0, "principal": alice, "code": "not_found"}},
		{"a list with a query", get(s.token(alice, "customer"), "/products?limit=7"), fields{"level": "info", "method": "GET", "route": "/products", "status": 200.0, "principal": alice}},
		{"the wrong role", get(s.token(shop, "seller"), "/customers/alice/balance"), fields{"level": "info", "method": "GET", "route": "/customers/{customer_id}/balance", "status": 403.0, "principal": shop, "code": "forbidden_role"}},
		{"no token", get("", "/orders/1"), fields{"level": "info", "method": "GET", "route": "/orders/{order_id}", "status": 401.0, "code": "unauthenticated"}},
		{"no such path", get("", "/no/such/path"), fields{"level": "info", "method": "GET", "route": "", "status": 404.0, "code": "not_found"}},
		{"no such method", call{method: "DELETE", path: "/orders"}, fields{"level": "info", "method": "DELETE", "route": "", "status": 405.0, "code": "method_not_allowed"}},
		{"health", get("", "/health/ready"), fields{"level": "info", "method": "GET", "route": "/health/ready", "status": 200.0}},
		{"documentation", get("", "/docs/swagger-ui.css"), fields{"level": "info", "method": "GET", "route": "/docs/{asset}", "status": 200.0}},
	} {
		t.Run(c.name, func(t *testing.T) { // in this order
			c.call.header = http.Header{"X-Request-Id": {w.name("request")}}
			r := s.in(t).send(c.call)
			line := lineOf(t, log, r.header.Get("X-Request-Id"))
			if took, ok := line["duration_ms"].(float64); !ok || took < 0 || line["time"] == nil || line["message"] != "request" {
				t.Errorf("duration, time or message is missing: %v", line)
			}
			for _, name := range []string{"request_id", "duration_ms", "time", "message"} {
				delete(line, name)
			}
			if c.want["key_sha256"] == "*" {
				c.want["key_sha256"] = line["key_sha256"]
			}
			if diff := cmp.Diff(c.want, fields(line)); diff != "" {
				t.Errorf("the line is not as wanted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestIDsComeFromTheCallerWhenTheyArePlain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for id, taken := range map[string]bool{
		"req-1": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "with space": false, "quote\"": false, "{}": false, "": false, "é": false,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r := s.in(t).send(call{method: "GET", path: "/health/live", header: http.Header{"X-Request-Id": {id}}})
			got := r.header.Get("X-Request-Id")
			if (got == id) != taken || got == "" {
				t.Errorf("the request is called %q", got)
			}
		})
	}
}

// AUTH-16: whatever becomes of a request, what is secret or personal in it stays out of
// the log, and out of the answer of a failure.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, log := w.logged()
	s.putProduct("tea", 10)
	s.credit(alice, "500.00")
	const (
		email = "anna.karenina@example.com"
		phone = "+79161234567"
		card  = "4242 4242 4242 4242"
	)
	profile := func(token string) call {
		return call{
			method: "PUT", path: "/customers/alice/profile", token: token,
			body: fmt.Sprintf(`{"full_name": %q, "email": %q, "phone": %q}`, canary, email, phone),
		}
	}
	noisy := func(c call) call { // secrets where callers put them
		c.header = http.Header{"User-Agent": {canary}, "Cookie": {"session=" + canary}, "X-Request-Id": {canary + " " + email}}
		if c.path != "" && !strings.Contains(c.path, "?") {
			c.path += "?note=" + canary + "&email=" + email
		}
		return c
	}
	credit := func(description, reference string) call {
		c := s.creditCall(alice, "1.00", canary+s.newKey())
		c.body = fmt.Sprintf(`{"amount": {"amount": "1.00", "currency": "RUB"}, "description": %q, "reference": %q}`, description, reference)
		return c
	}
	customer := s.token(alice, "customer")
	bad := honest(w).with("exp", fromNow(-3600_000_000_000)).with("email", email).token(t)
	secrets := []string{canary, email, strings.Split(email, "@")[0], phone, card, strings.ReplaceAll(card, " ", ""), "note=", "Bearer"}

	w.exec(`CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'cannot keep %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$`)
	broken := func(table string, c call) func() call { // the database fails, and tells all it knows
		return func() call {
			w.exec(fmt.Sprintf(`CREATE OR REPLACE TRIGGER shout BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION shout()`, table))
			return c
		}
	}
	working := func(c call) func() call { return func() call { return c } }
	replayed := credit(canary, email)
	for _, c := range []struct {
		name   string
		call   func() call
		status int
	}{
		{"a credit", working(noisy(replayed)), 201},
		{"its replay", working(noisy(replayed)), 201},
		{"a profile", working(noisy(profile(customer))), 200},
		{"an e-mail that is none", working(noisy(call{method: "PUT", path: "/customers/alice/profile", token: customer, body: `{"full_name": "` + canary + `", "email": "` + canary + `", "phone": "` + phone + `"}`})), 422},
		{"a body that is none", working(noisy(call{method: "POST", path: "/orders", token: customer, key: canary, body: `{"` + canary + `": ` + email})), 400},
		{"a card number", working(noisy(credit(card, email))), 422},
		{"a key that is none", working(noisy(call{method: "POST", path: "/orders", token: customer, key: canary + ";" + email, body: `{}`})), 400},
		{"a path that is none", working(noisy(call{method: "GET", path: "/" + canary + "/" + email, token: customer})), 404},
		{"a token that has expired", working(noisy(balanceCall(bad))), 401},
		{"a token in the query", working(balanceCall("")), 401},
		{"somebody else's profile", working(noisy(profile(s.token("bob", "customer")))), 403},
		{"a credit that the database cannot keep", broken("ledger_entry", noisy(credit(canary, email))), 500},
		{"a record that the database cannot keep", broken("idempotency_record", noisy(credit(canary, email))), 500},
		{"a profile that the database cannot keep", broken("customer_profile", noisy(profile(customer))), 500},
	} {
		t.Run(c.name, func(t *testing.T) { // in this order, for the database breaks on the way
			ask := c.call()
			r := s.in(t).send(ask)
			if r.status != c.status {
				t.Errorf("status %d, want %d: %s", r.status, c.status, r.body)
			}
			line := lineOf(t, log, r.header.Get("X-Request-Id"))
			if cause, _ := line["cause"].(string); (cause != "") != (c.status == http.StatusInternalServerError) {
				t.Errorf("the cause is %q", cause)
			}
			hidden := slices.Clone(secrets)
			if ask.token != "" {
				hidden = append(hidden, ask.token, ask.token[len(ask.token)-20:])
			}
			if ask.key != "" {
				hidden = append(hidden, ask.key)
			}
			for _, secret := range hidden {
				if strings.Contains(log.String(), secret) {
					t.Fatalf("%q is in the log: %s", secret, log)
				}
				if c.status == http.StatusInternalServerError && strings.Contains(string(r.body), secret) && secret != "Bearer" {
					t.Errorf("%q is in the answer: %s", secret, r.body)
				}
			}
		})
	}
	if !strings.Contains(log.String(), "SQLSTATE P0001") {
		t.Errorf("whoever reads the log cannot tell what failed: %s", log)
	}
}
