package auth_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
)

// startWithLog starts a replica whose log the test reads.
func startWithLog(t testing.TB) (*e2e.Service, *e2e.Buffer) {
	t.Helper()
	log := &e2e.Buffer{}
	newLog := func(cfg config.Config) zerolog.Logger { return app.NewLog(cfg, log) }
	return e2e.NewEnv(t).StartReplicaWithLog(t, newLog, "ORDERS_LOG_LEVEL=debug"), log
}

// lineOf waits for the line of a request in the log. There must be exactly one.
func lineOf(t *testing.T, log *e2e.Buffer, requestID string) map[string]any {
	t.Helper()
	var found []map[string]any
	e2e.Eventually(t, "the request has a line in the log", func() bool {
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

// logFields are the members of a log line, without those that every line has.
type logFields map[string]any

func TestLog_HasOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	s, log := startWithLog(t)
	s.PutProduct(t, "tea", 10)
	for _, c := range loggedRequests(t, s) {
		t.Run(c.name, func(t *testing.T) { // in this order
			c.call.Header = http.Header{"X-Request-Id": {s.UniqueName("request")}}
			r := s.Send(t, c.call)
			line := lineOf(t, log, r.Header.Get("X-Request-Id"))
			if took, ok := line["duration_ms"].(float64); !ok || took < 0 || line["time"] == nil || line["message"] != "request" {
				t.Errorf("duration, time or message is missing: %v", line)
			}
			if line["remote_addr"] != "127.0.0.1" {
				t.Errorf("remote_addr is %v", line["remote_addr"])
			}
			for _, name := range []string{"request_id", "remote_addr", "duration_ms", "time", "message"} {
				delete(line, name)
			}
			for name, value := range c.want {
				if value == "*" {
					c.want[name] = line[name]
				}
			}
			if c.want["level"] == nil {
				c.want["level"] = "info"
			}
			if diff := cmp.Diff(c.want, logFields(line)); diff != "" {
				t.Errorf("the line (-want +got):\n%s", diff)
			}
		})
	}
}

// loggedRequest is a request and its line in the log.
type loggedRequest struct {
	name string
	call e2e.Call
	want logFields
}

func loggedRequests(t testing.TB, s *e2e.Service) []loggedRequest {
	t.Helper()
	const key, digest = "key-of-the-log-test", "3b8b5226417b" // the digest is SHA-256
	const credit, balance = "/customers/{customer_id}/balance/credit", "/customers/{customer_id}/balance"
	customer := s.CustomerToken(t)
	create := s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey(key)
	tooMany := s.CreateOrderCall(t, e2e.Alice, "tea", 1000)
	ofBank := s.CreditCall(t, e2e.Alice, "1.00").WithKey(key)
	created := func(more logFields) logFields {
		fields := logFields{"method": "POST", "route": "/orders", "status": 201.0, "principal": e2e.Alice, "key_sha256": digest}
		maps.Copy(fields, more)
		return fields
	}
	read := func(route string, status float64, more logFields) logFields {
		fields := logFields{"method": "GET", "route": route, "status": status}
		maps.Copy(fields, more)
		return fields
	}
	return []loggedRequest{
		{"a command", create, created(logFields{"idempotency": "created", "order_id": "*"})},
		{"its replay", create, created(logFields{"idempotency": "reused", "order_id": "*"})},
		{"its key for another request", create.WithBody(strings.Replace(create.Body, "1", "2", 1)), created(logFields{"status": 409.0, "code": "idempotency_key_reused"})},
		{"its key from somebody else", ofBank, created(logFields{"route": credit, "principal": e2e.Bank, "idempotency": "created"})},
		{"a stored refusal", tooMany, created(logFields{"status": 409.0, "code": "out_of_stock", "idempotency": "created", "key_sha256": "*"})},
		{"a read", e2e.Get(customer, "/orders/999999"), read("/orders/{order_id}", 404, logFields{"principal": e2e.Alice, "code": "not_found", "order_id": 999999.0})},
		{"a list with a query", e2e.Get(customer, "/products?limit=7"), read("/products", 200, logFields{"principal": e2e.Alice})},
		{"the wrong role", e2e.Get(s.SellerToken(t), "/customers/alice/balance"), read(balance, 403, logFields{"principal": e2e.Shop, "code": "forbidden_role"})},
		{"no token", e2e.Get("", "/orders/1"), read("/orders/{order_id}", 401, logFields{"code": "unauthenticated", "order_id": 1.0})},
		{"no such path", e2e.Get("", "/no/such/path"), read("", 404, logFields{"code": "not_found"})},
		{"no such method", e2e.Call{Method: "DELETE", Path: "/orders"}, read("", 405, logFields{"method": "DELETE", "code": "method_not_allowed"})},
		{"health", e2e.Get("", "/health/ready"), read("/health/ready", 200, logFields{"level": "debug"})},
		{"documentation", e2e.Get("", "/docs/swagger-ui.css"), read("/docs/{asset}", 200, nil)},
	}
}

func TestRequestID_IsTakenFromCallerWhenItIsPlain(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for id, taken := range map[string]bool{
		"req-1": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "with space": false, "quote\"": false, "{}": false, "": false, "é": false,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r := s.Send(t, e2e.Call{Method: "GET", Path: "/health/live", Header: http.Header{"X-Request-Id": {id}}})
			got := r.Header.Get("X-Request-Id")
			if (got == id) != taken || got == "" {
				t.Errorf("the request ID is %q", got)
			}
		})
	}
}

// Secrets and personal data of the requests below.
const (
	email = "anna.karenina@example.com"
	phone = "+79161234567"
	card  = "4242 4242 4242 4242"
)

// secrets must not be in the log, nor in the response to a failure.
var secrets = []string{canary, email, strings.Split(email, "@")[0], phone, card, strings.ReplaceAll(card, " ", ""), "note=", "Bearer"}

// withSecrets puts secrets where callers put them: in headers.
func withSecrets(c e2e.Call) e2e.Call {
	c.Header = http.Header{"User-Agent": {canary}, "Cookie": {"session=" + canary}, "X-Request-Id": {canary + " " + email}}
	return c
}

// AUTH-16: whatever becomes of a request, its secrets and personal data stay out of the
// log.
func TestLog_ContainsNoSecrets(t *testing.T) {
	t.Parallel()
	s, log := startWithLog(t)
	s.PutProduct(t, "tea", 10)
	s.Credit(t, e2e.Alice, "500.00")
	for _, c := range requestsWithSecrets(t, s) {
		t.Run(c.name, func(t *testing.T) { wantSecretsHidden(t, s, log, c.call, c.status) })
	}
}

// secretRequest is a request with secrets, and the status of its response.
type secretRequest struct {
	name   string
	call   e2e.Call
	status int
}

func requestsWithSecrets(t testing.TB, s *e2e.Service) []secretRequest {
	t.Helper()
	customer := s.CustomerToken(t)
	expired := honest(s.Env).with("exp", fromNow(-time.Hour)).with("email", email).token(t)
	credit, profile := secretCredit(t, s, canary, email), secretProfile(customer)
	return []secretRequest{
		{"a credit", withSecrets(credit), 201},
		{"its replay", withSecrets(credit), 201},
		{"a profile", withSecrets(profile), 200},
		{"an invalid e-mail address", withSecrets(profile.WithBody(`{"full_name": "` + canary + `", "email": "` + canary + `", "phone": "` + phone + `"}`)), 422},
		{"a malformed body", withSecrets(e2e.Call{Method: "POST", Path: "/orders", Token: customer, Key: canary, Body: `{"` + canary + `": ` + email}), 400},
		{"a card number", withSecrets(secretCredit(t, s, card, email)), 422},
		{"an invalid key", withSecrets(e2e.Call{Method: "POST", Path: "/orders", Token: customer, Key: canary + ";" + email, Body: `{}`}), 400},
		{"an unknown path", withSecrets(e2e.Get(customer, "/"+canary+"/"+email)), 404},
		{"an expired token", withSecrets(balanceCall(expired)), 401},
		{"a list by reference", withSecrets(e2e.Get(customer, "/orders?reference="+canary)), 200},
		{"an unknown parameter", withSecrets(e2e.Get(customer, "/orders?note="+canary+"&email="+email)), 422},
		{"a token in the query", balanceCall(""), 401},
		{"the profile of somebody else", withSecrets(secretProfile(s.Token(t, "bob", "customer"))), 403},
	}
}

// secretCredit is the call that credits Alice, with secrets in its key and its body.
func secretCredit(t testing.TB, s *e2e.Service, description, reference string) e2e.Call {
	t.Helper()
	return s.CreditCall(t, e2e.Alice, "1.00").WithKey(canary + s.NewKey()).WithBody(fmt.Sprintf(
		`{"amount": {"amount": "1.00", "currency": "RUB"}, "description": %q, "reference": %q}`, description, reference))
}

// secretProfile is the call that puts the profile of Alice.
func secretProfile(token string) e2e.Call {
	return e2e.Call{Method: "PUT", Path: "/customers/alice/profile", Token: token,
		Body: fmt.Sprintf(`{"full_name": %q, "email": %q, "phone": %q}`, canary, email, phone)}
}

// The database fails here, and its error message contains the row.
func TestLog_ContainsNoSecretsWhenDatabaseFails(t *testing.T) {
	t.Parallel()
	s, log := startWithLog(t)
	s.Credit(t, e2e.Alice, "500.00")
	s.Exec(t, `CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'cannot keep %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$`)
	for _, c := range []struct {
		table string
		call  e2e.Call
	}{
		{"ledger_entry", secretCredit(t, s, canary, email)},
		{"idempotency_record", secretCredit(t, s, canary, email)},
		{"customer_profile", secretProfile(s.CustomerToken(t))},
	} {
		t.Run(c.table, func(t *testing.T) {
			s.Exec(t, fmt.Sprintf(`CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION shout()`, c.table))
			r := wantSecretsHidden(t, s, log, withSecrets(c.call), http.StatusInternalServerError)
			for _, secret := range hiddenOf(c.call) {
				if strings.Contains(string(r.Body), secret) && secret != "Bearer" {
					t.Errorf("%q is in the response: %s", secret, r.Body)
				}
			}
			s.Exec(t, `DROP TRIGGER shout ON `+c.table)
		})
	}
	if !strings.Contains(log.String(), "SQLSTATE P0001") {
		t.Errorf("the log does not say what failed: %s", log)
	}
}

// wantSecretsHidden sends a call and checks its line in the log, and the whole log so
// far.
func wantSecretsHidden(t *testing.T, s *e2e.Service, log *e2e.Buffer, c e2e.Call, status int) e2e.Reply {
	t.Helper()
	r := s.Send(t, c)
	if r.Status != status {
		t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	line := lineOf(t, log, r.Header.Get("X-Request-Id"))
	if cause, _ := line["error"].(string); (cause != "") != (status == http.StatusInternalServerError) {
		t.Errorf("the cause is %q", cause)
	}
	for _, secret := range hiddenOf(c) {
		if strings.Contains(log.String(), secret) {
			t.Fatalf("%q is in the log: %s", secret, log)
		}
	}
	return r
}

// hiddenOf returns the secrets, with the token and the key of a call.
func hiddenOf(c e2e.Call) []string {
	hidden := slices.Clone(secrets)
	if c.Token != "" {
		hidden = append(hidden, c.Token, c.Token[len(c.Token)-20:])
	}
	if c.Key != "" {
		hidden = append(hidden, c.Key)
	}
	return hidden
}
