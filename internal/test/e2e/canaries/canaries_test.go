// Package canaries_test plants secrets and personal data in every part of every request,
// lets everything fail that can fail, and searches all that the service writes: its log,
// traces, metrics, profiles, events, problem documents, and every column of the database (AUTH-16).
package canaries_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	outnats "example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/collector"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// aviary is a process whose own secrets are canaries, and everything that it depends on.
type aviary struct {
	*planter
	env      *e2e.Env
	process  *e2e.Process
	admin    string
	server   *devpostgres.Server
	broker   *devbroker.Broker
	provider *provider
	traces   *collector.Collector
}

// startAviary starts a process with a database, a broker and a card provider. The log has
// everything.
func startAviary(t *testing.T, n *nest) *aviary {
	t.Helper()
	a := &aviary{env: e2e.NewEnv(t), admin: e2e.FreeAddr(t), server: pgtest.NewCluster(t, nil), broker: natstest.New(t), traces: collector.New(t)}
	a.env.DatabaseURL = pgtest.NewOn(t, a.server)
	a.env.Connect(t)
	a.provider = startProvider(t)
	a.process = a.env.StartProcess(t, e2e.BuildOrders(t),
		"ORDERS_LOG_LEVEL=trace", "ORDERS_ADMIN_ADDR="+a.admin,
		"ORDERS_DATABASE_URL="+withPassword(t, a.env.DatabaseURL, n.plant("database password", "ORDERS_DATABASE_URL")),
		"ORDERS_NATS_URL="+withPassword(t, a.broker.URL(), n.plant("broker password", "ORDERS_NATS_URL")),
		"ORDERS_STRIPE_KEY="+n.plant("provider key", "ORDERS_STRIPE_KEY"),
		"ORDERS_STRIPE_WEBHOOK_SECRET="+n.plant("webhook secret", "ORDERS_STRIPE_WEBHOOK_SECRET"),
		"ORDERS_STRIPE_URL="+a.provider.URL, "ORDERS_OTLP_ENDPOINT="+a.traces.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
	a.planter = &planter{Service: a.env.ServiceOf(a.process), nest: n}
	return a
}

// withPassword returns a URL with a password. The servers of the test ask for none.
func withPassword(t *testing.T, address, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := u.User.Username()
	if name == "" {
		name = "orders"
	}
	u.User = url.UserPassword(name, password)
	return u.String()
}

// provider is a card provider that refuses each card token in its way, and repeats all that
// it was told.
type provider struct {
	*httptest.Server
	ways     sync.Map // by card token; any other is refused in the first way
	answered [len(refusals)]atomic.Int32
}

// refusal answers a call, of which it knows the secrets.
type refusal func(w http.ResponseWriter, secrets string)

func startProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // a body that cannot be read has no secrets
		way := 0
		if known, found := p.ways.Load(r.PostForm.Get("payment_method")); found {
			way = known.(int)
		}
		p.answered[way].Add(1)
		refusals[way].answer(w, fmt.Sprint(r.Header, r.Form))
	}))
	t.Cleanup(p.Close)
	return p
}

var refusals = [...]struct {
	name   string
	answer refusal
}{
	{"an error of the request", failure(http.StatusBadRequest, "invalid_request_error")},
	{"a failure", failure(http.StatusInternalServerError, "api_error")},
	{"a page", func(w http.ResponseWriter, secrets string) { _, _ = fmt.Fprintf(w, "<html>%s", secrets) }},
	{"a redirect", func(w http.ResponseWriter, secrets string) {
		w.Header().Set("Location", "http://127.0.0.1:1/?secrets="+url.QueryEscape(secrets))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}},
	{"no answer", func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }},
}

// failure answers as the provider does, with all that it was told in each text.
func failure(status int, kind string) refusal {
	return func(w http.ResponseWriter, secrets string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error": {"type": %q, "message": %q, "param": %q, "doc_url": %q}}`, kind, secrets, secrets, secrets)
	}
}

// payByCards pays an order by card for each way in which the provider can refuse. await waits
// until a job has asked about each.
func (a *aviary) payByCards(t *testing.T) (await func()) {
	t.Helper()
	a.PutProduct(t, "canary-food", 1000)
	var orders [len(refusals)]int
	for way, refuse := range refusals {
		cardToken := a.nest.plant("card token", "payment_method")
		a.provider.ways.Store(cardToken, way)
		orders[way] = a.MustCreateOrder(t, e2e.Alice, "canary-food", 1).ID
		r := a.send(t, a.withKey(a.CardCall(t, orders[way], cardToken)))
		if r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", refuse.name, r.Status, r.Body)
		}
	}
	return func() {
		for way, refuse := range refusals {
			e2e.Eventually(t, "a job has asked the provider that answers with "+refuse.name, func() bool {
				return a.provider.answered[way].Load() > 0 && a.env.Count(t, `
					SELECT (SELECT count(*) FROM payment WHERE order_id = $1 AND status <> 'processing')
					+ (SELECT count(*) FROM river.river_job WHERE kind = 'settle_payment' AND args->>'id' =
						(SELECT id::text FROM payment WHERE order_id = $1) AND errors IS NOT NULL)`, orders[way]) > 0
			})
		}
	}
}

// failDatabase lets each statement of a command fail with the row in its message, and then
// stops the database.
func (a *aviary) failDatabase(t *testing.T) {
	t.Helper()
	a.env.Exec(t, `CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'cannot keep %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$`)
	for _, table := range []string{"ledger_entry", "idempotency_record", "customer_profile", "orders", "outbox", "audit_log"} {
		a.env.Exec(t, fmt.Sprintf(`CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION shout()`, table))
		a.plantInTexts(t, http.StatusInternalServerError)
		a.env.Exec(t, `DROP TRIGGER shout ON `+table)
	}
	a.server.Kill()
	a.plantInTexts(t, http.StatusServiceUnavailable)
	e2e.Fetch(t, "http://"+a.admin+"/metrics")
	if err := a.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.env.DB.Reset() // the connections of the test are broken, too
	e2e.Eventually(t, "the process is ready again", func() bool {
		return a.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusOK
	})
}

// plantInTexts sends commands with canaries in their texts, of which at least one must fail
// with a status.
func (a *aviary) plantInTexts(t *testing.T, want int) {
	t.Helper()
	plant, seen := a.nest.plant, 0
	for _, c := range []e2e.Call{
		a.CreditCall(t, e2e.Alice, "1.00").WithBody(fmt.Sprintf(`{"amount": {"amount": "1.00", "currency": "RUB"}, "description": %q, "reference": %q}`,
			plant("full name", "description"), plant("e-mail", "reference"))),
		{Method: "PUT", Path: "/customers/alice/profile", Token: a.CustomerToken(t), Body: fmt.Sprintf(`{"full_name": %q, "email": %q, "phone": %q}`,
			plant("full name", "full_name"), plant("e-mail", "email"), plant("telephone number", "phone"))},
		a.CreateOrderCall(t, e2e.Alice, "canary-food", 1).WithBody(fmt.Sprintf(
			`{"items": [{"sku": "canary-food", "quantity": 1}], "reference": %q}`, plant("bearer token", "reference"))),
		e2e.Get(a.AdminToken(t), "/orders?reference="+plant("bearer token", "query reference")),
	} {
		if a.send(t, a.withKey(c)).Status == want {
			seen++
		}
	}
	if seen == 0 {
		t.Errorf("no request failed with %d", want)
	}
}

func TestCanaries_StayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	n := &nest{}
	a := startAviary(t, n)
	awaitRefusals := a.payByCards(t)
	a.plantEverywhere(t)
	a.plantAsSubject(t)
	awaitRefusals()
	a.failDatabase(t)
	e2e.Eventually(t, "all events are published", func() bool {
		return a.env.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	e2e.Eventually(t, "the spans have come", func() bool { return len(a.traces.Spans()) > a.sent })

	s := &searcher{nest: n}
	s.wantClean(t, "trace", a.traces.Text())
	s.wantClean(t, "log", withoutMember(a.process.Log(), "request_id"))
	s.searchAdmin(t, a.admin)
	s.searchDatabase(t, a.env)
	for _, event := range natstest.Messages(t, a.broker, outnats.Stream) {
		s.wantClean(t, "event", string(event))
	}
	for _, problem := range a.problems {
		s.wantClean(t, "problem", problem)
	}
	s.wantClean(t, "header", strings.Join(a.headers, "\n"))
	t.Logf("%d canaries in %d requests; %d places with %d KiB searched; %d found where they belong",
		len(n.all), a.sent, s.places, s.bytes>>10, s.known)
	if len(n.all) < 2000 || s.known < 100 || len(a.problems) < 500 {
		t.Errorf("too little was tried: %d canaries, %d where they belong, %d problems", len(n.all), s.known, len(a.problems))
	}
}

// output is what a command prints. It stops a service that waits for its database.
type output struct {
	printed []byte
	stop    func()
	waiting bool
}

func (o *output) Write(p []byte) (int, error) {
	o.printed = append(o.printed, p...)
	if !o.waiting && bytes.Contains(o.printed, []byte("waiting for the database")) {
		o.waiting = true
		o.stop()
	}
	return len(p), nil
}

// failing runs a command that must fail, or wait for its database, and returns all that it
// prints.
func failing(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), e2e.BuildOrders(t), args...)
	out := &output{stop: func() { _ = cmd.Process.Signal(syscall.SIGTERM) }}
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, out, out
	if err := cmd.Run(); err == nil && !out.waiting {
		t.Fatalf("%s succeeds: %s", cmd, out.printed)
	}
	return string(out.printed)
}

func TestCommands_PrintNoSecretWhenTheyFail(t *testing.T) {
	t.Parallel()
	n, env := &nest{}, e2e.NewEnv(t)
	plant := func(sort string) string { return n.plant(sort, "a setting") }
	password := plant("database password")
	nobody := "postgres://guest:" + password + "@127.0.0.1:1/orders"
	for _, command := range [][]string{{"serve"}, {"migrate", "up"}} {
		for name, settings := range map[string][]string{
			"nobody there":          {"ORDERS_DATABASE_URL=" + nobody},
			"key=value":             {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 user=guest password=" + password + " dbname=orders"},
			"key=value, no quote":   {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 password='" + password},
			"an @ in the password":  {"ORDERS_DATABASE_URL=postgres://guest:x@" + password + "@127.0.0.1:1/orders"},
			"a / in the password":   {"ORDERS_DATABASE_URL=postgres://guest:1/" + password + "@127.0.0.1:1/orders"},
			"a space in the URL":    {"ORDERS_DATABASE_URL=postgres://guest:x " + password + "@127.0.0.1:1/orders"},
			"another database":      {"ORDERS_DATABASE_URL=mysql://guest:" + password + "@127.0.0.1/orders"},
			"a parameter":           {"ORDERS_DATABASE_URL=postgres://guest:" + password + "@127.0.0.1:1/orders?connect_timeout=" + password},
			"a name that is no one": {"ORDERS_DATABASE_URL=" + nobody, "ORDERS_STRIPE_KEYS=" + plant("provider key")},
			"other secrets too": {
				"ORDERS_DATABASE_URL=" + nobody, "ORDERS_NATS_URL=nats://orders:" + plant("broker password") + "@127.0.0.1:x", "ORDERS_STRIPE_KEY=" + plant("provider key"),
				"ORDERS_STRIPE_URL=http://" + plant("provider key") + "@provider.example", "ORDERS_JWKS_URL=http://u:" + plant("bearer token") + "@issuer.example",
			},
		} {
			printed := failing(t, env.Environ(t, settings...), command...)
			if leaks := n.search(printed); len(leaks) > 0 || strings.Contains(printed, password) {
				t.Errorf("orders %s with %s prints a %s: %s", strings.Join(command, " "), name, password, printed)
			}
		}
	}
}
