package process_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/internal/test/pg/roundtrips"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
	"example.com/orders/migrations"
)

// warnings returns the warnings that a replica with these settings logs when it starts.
func warnings(t *testing.T, env *e2e.Env, settings ...string) []string {
	t.Helper()
	log := &testlog.Buffer{}
	s := env.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) }, settings...)
	s.App.LogStart(s.Config)
	var found []string
	for _, line := range log.Lines(t) {
		if line["level"] == "warn" {
			found = append(found, line["message"].(string))
		}
	}
	return found
}

func TestStart_WarnsAboutWhatIsMissing(t *testing.T) {
	t.Parallel()
	env, broker := e2e.NewEnv(t), natstest.New(t)
	const noCards, noBroker = "card payments are refused: ORDERS_STRIPE_KEY is not set", "events wait in the outbox: ORDERS_NATS_URL is not set"
	const oneCopy = "one broker server keeps each event: set ORDERS_NATS_REPLICAS=3 to survive its loss"
	cards := e2e.CardSettings(e2e.SilentProvider)
	for _, c := range []struct{ settings, want []string }{
		{nil, []string{noCards, noBroker}},
		{[]string{"ORDERS_OUTBOX=external"}, []string{noCards}},
		{append(slices.Clip(cards), "ORDERS_NATS_URL="+broker.URL()), []string{oneCopy}},
		{append(slices.Clip(cards), "ORDERS_NATS_URL="+broker.URL(), "ORDERS_NATS_REPLICAS=3"), nil},
	} {
		if got := warnings(t, env, c.settings...); !slices.Equal(got, c.want) {
			t.Errorf("%v: warnings %q, want %q", c.settings, got, c.want)
		}
	}
}

// Debezium reads the outbox elsewhere, so here its events only wait to be deleted. A broker
// for the warehouse's messages changes nothing.
func TestOutbox_ThatIsExternalFillsNoBroker(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	for name, settings := range map[string][]string{"no broker": nil, "a broker": {"ORDERS_NATS_URL=" + broker.URL()}} {
		s := e2e.Start(t, append(settings, "ORDERS_OUTBOX=external")...)
		s.Run(t)
		s.Credit(t, e2e.Alice, "1.00")
		e2e.Eventually(t, name+": no event is unpublished", func() bool {
			return s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
		})
		if n := s.Count(t, "SELECT count(*) FROM outbox"); n != 1 {
			t.Errorf("%s: %d events in the outbox, want 1", name, n)
		}
	}
	if _, err := natstest.JetStream(t, broker).Stream(t.Context(), "ORDERS"); err == nil {
		t.Error("the service publishes as well")
	}
}

// Debezium reads the outbox by pgoutput, from the publication that docs/operate.md creates.
func TestOutbox_ThatIsExternalIsReadByPgoutput(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	env := e2e.NewEnv(t)
	env.DatabaseURL = pgtest.NewOn(t, pgtest.NewCluster(t, map[string]string{"wal_level": "logical"}))
	env.Connect(t)
	for _, statement := range []string{
		string(regexp.MustCompile("CREATE PUBLICATION [^`]*").Find(page)),
		"SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')",
	} {
		if _, err := env.DB.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	s := env.StartReplica(t, "ORDERS_OUTBOX=external")
	s.Run(t)
	s.Credit(t, e2e.Alice, "1.00")
	s.Credit(t, e2e.Alice, "2.00")
	e2e.Eventually(t, "no event is unpublished", func() bool {
		return s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})

	const changes = `SELECT count(*) FROM pg_logical_slot_peek_binary_changes('debezium', NULL, NULL,
		'proto_version', '1', 'publication_names', 'orders_events') c WHERE chr(get_byte(c.data, 0)) `
	const marked = changes + `= 'U' AND EXISTS (SELECT FROM outbox e WHERE position(e.event_id::text::bytea IN c.data) > 0
		AND position('balance.credit'::bytea IN c.data) > 0 AND position('balance/alice'::bytea IN c.data) > 0)`
	if n, others := s.Count(t, marked), s.Count(t, changes+"IN ('I', 'D')"); n != 2 || others != 0 {
		t.Errorf("pgoutput sends %d events and %d other changes, want 2 and none", n, others)
	}
}

func TestServe_NamesTheSettingThatAPoolerNeeds(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	pooledURL := pgbouncertest.Start(t, env.ServiceURL(t), 4)
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_DATABASE_URL="+pooledURL)
	e2e.Eventually(t, "the log names the setting", func() bool {
		return strings.Contains(p.Log(), "set ORDERS_DATABASE_POOLER=transaction: ")
	})
}

// A service that reaches a standby, perhaps an old primary behind a virtual address, can
// read and not write.
func TestService_WithReadOnlyTransactionsIsUnavailableAndNotReady(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	primary := env.StartReplica(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "default_transaction_read_only", "on"))
	for _, route := range routes.Guarded() {
		c, key := routes.Prepare(t, primary, route), s.NewKey()
		if r := s.Send(t, c.WithKey(key)); r.Verdict() != "503 unavailable" {
			t.Errorf("%s: %s, want 503 unavailable", c.Operation.ID, r.Verdict())
		}
		c.WantKeyFree(t, key)
	}
	if r := s.Send(t, e2e.Get("", "/health/ready")); r.Verdict() != "503 unavailable" {
		t.Errorf("readiness: %s, want 503 unavailable", r.Verdict())
	}
	if r := s.Send(t, e2e.Get(s.SellerToken(t), "/orders")); r.Status != http.StatusOK {
		t.Errorf("a read: %s", r.Verdict())
	}
}

// COMMIT waits for a standby that is gone, as long as its client waits. More commands than
// the pool has connections do so here, and everything that only reads must go on.
func TestReads_GoOnWhileCommandsWaitForTheStandby(t *testing.T) {
	t.Parallel()
	const commands = 12
	servers := pgtest.NewReplicated(t)
	env := e2e.NewEnv(t)
	env.DatabaseURL = servers.URL()
	env.Connect(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", "4"), "ORDERS_COMMAND_LANES=0") // each has a transaction
	reads := prepareEveryRead(t, s)
	calls := make([]e2e.Call, commands)
	for i := range calls {
		calls[i] = env.CreditCall(t, env.UniqueName("customer"), "1.00").WithToken(env.Token(t, env.UniqueName("bank"), "system"))
	}
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	replies := make(chan e2e.Reply, commands)
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() { replies <- s.Send(t, call) })
	}
	e2e.Eventually(t, "COMMITs wait for the standby", func() bool {
		return env.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") >= 2
	})

	for _, read := range reads {
		if r := s.Send(t, read.Call); r.Status != read.Status {
			t.Errorf("%s: %s, want %d", read.Operation.ID, r.Verdict(), read.Status)
		}
	}
	if len(replies) > 0 {
		t.Errorf("a command has ended before the reads: %s", (<-replies).Verdict())
	}
	servers.StartStandby(t)
	all.Wait()
	close(replies)
	for r := range replies {
		if v := r.Verdict(); v != "201" && v != "503 outcome_unknown" && v != "503 unavailable" {
			t.Errorf("a command: %s", v)
		}
	}
}

// prepareEveryRead returns a request of each route that only reads. Three are not among
// them: what is known of a key waits for the standby, as a replay does, and reads of the
// audit log and of all payments write an entry.
func prepareEveryRead(t *testing.T, s *e2e.Service) []routes.Command {
	t.Helper()
	var reads []routes.Command
	for name := range routes.All {
		c := routes.Prepare(t, s, name)
		if c.Call.Method == http.MethodGet && !slices.Contains([]string{"getIdempotencyKey", "listAuditLog", "searchPayments"}, c.Operation.ID) {
			c.Call.Token = s.Token(t, c.Customer, "customer") // whose reads leave no audit entry
			if strings.HasPrefix(c.Call.Path, "/webhook-endpoints") {
				c.Call.Token = s.Token(t, c.Seller, "seller")
			}
			reads = append(reads, c)
		}
	}
	return reads
}

// takePrivilege revokes what credits need.
const takePrivilege = "REVOKE INSERT ON ledger_entry FROM orders_service"

// After an upgrade without `orders migrate up`, or with a role outside of the group, the
// first order must not be the one that finds out.
func TestServe_RefusesARoleThatLacksPrivileges(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	env.Exec(t, takePrivilege)
	message := errorOf(t, e2e.BuildOrders(t), env.Environ(t), "serve")
	want := `the database role "orders_app" lacks INSERT ON ledger_entry: run ` + "`orders migrate up`" +
		` as the owner of the tables, and execute GRANT "orders_service" TO "orders_app" as a superuser`
	if message != want {
		t.Errorf("the error is %s\nwant         %s", message, want)
	}
}

// Somebody who restores a dump without its privileges makes a running service useless.
func TestService_IsNotReadyWithoutItsPrivileges(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.Exec(t, takePrivilege)
	e2e.Eventually(t, "the service is not ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusServiceUnavailable
	})

	call := s.CreditCall(t, e2e.Alice, "1.00")
	r := s.WantProblem(t, http.StatusInternalServerError, "internal", call)
	for _, word := range []string{"42501", "ledger_entry", "denied"} {
		if strings.Contains(string(r.Body), word) {
			t.Errorf("the response contains %s: %s", word, r.Body)
		}
	}

	if _, err := migrations.Grant(t.Context(), s.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the service is ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusOK
	})
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, call) // the failed call has kept nothing
}

// A guarded command may make one round trip to claim its key, one to load, and one to
// write and commit. A replay may make one before it is answered.
const (
	maxCommandTrips = 3
	maxReplayTrips  = 1
)

// startCounted starts a replica whose round trips to the database are counted. It has
// one connection, so that a statement that was prepared stays prepared.
func startCounted(t testing.TB, env *e2e.Env) (*e2e.Service, *roundtrips.Proxy) {
	t.Helper()
	proxy := roundtrips.Start(t, env.ServiceURL(t))
	url := e2e.WithParameter(t, proxy.URL(), "pool_max_conns", "1")
	return env.StartReplica(t, "ORDERS_DATABASE_URL="+url), proxy
}

// Round trips are counted on the wire. Statements are prepared by a call before.
// Housekeeping does not count: blocks of IDs, and checks whether a connection is alive.
func TestCommands_MakeFewRoundTrips(t *testing.T) {
	s, proxy := startCounted(t, e2e.NewEnv(t))
	for _, route := range routes.Guarded() {
		s.MustSend(t, routes.Prepare(t, s, route).WithKey(s.NewKey())) // prepares the statements
		call := routes.Prepare(t, s, route).WithKey(s.NewKey())
		proxy.Take()
		s.MustSend(t, call)
		wantAtMost(t, route, maxCommandTrips, proxy.Take())
	}
}

// The replica has not seen the first request, so it cannot have cached the response.
// How the transaction ends after the response does not count.
func TestReplay_MakesOneRoundTrip(t *testing.T) {
	env := e2e.NewEnv(t)
	first := env.StartReplica(t)
	other, proxy := startCounted(t, env)
	warmUp, credit := env.CreditCall(t, e2e.Alice, "1.00"), env.CreditCall(t, e2e.Alice, "1.00")
	e2e.Want[e2e.Transaction](t, first, http.StatusCreated, warmUp)
	e2e.Want[e2e.Transaction](t, first, http.StatusCreated, credit)
	other.MustSend(t, warmUp)
	e2e.Eventually(t, "the transaction of the warm-up has ended", proxy.Idle)
	proxy.Take()

	release := proxy.HoldAfter(maxReplayTrips)
	tooMany := time.AfterFunc(e2e.Patience, release)
	replay := other.MustSend(t, credit)

	if !tooMany.Stop() {
		wantAtMost(t, "a replay", maxReplayTrips, proxy.Take())
	}
	release()
	if !replay.Replayed() {
		t.Errorf("not a replay: %v", replay.Header)
	}
}

// wantAtMost reports what each round trip was for when there are too many.
func wantAtMost(t *testing.T, what string, limit int, trips []roundtrips.Trip) {
	t.Helper()
	if len(trips) > limit {
		t.Errorf("%s made %d round trips, want at most %d:", what, len(trips), limit)
		for i, trip := range trips {
			t.Logf("%d:\n\t%s", i+1, strings.ReplaceAll(strings.Join(trip, ";\n"), "\n", "\n\t"))
		}
	}
}
