package guard_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// startClock is how far the clock of the database is ahead: processes may disagree
// about the time, and all of them must let a record expire together.
const startClock = 24000 * time.Hour

// change is what time changes about a stored response: what its key gets before and after
// its age is reached.
type change struct {
	age           time.Duration
	before, after func(replica *e2e.Service)
}

// Time passes by the clock of the database, which is far ahead here.
func TestGuard_ExpiresRecordsByClockOfDatabase(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	newReplica := replaceClock(t, env)
	s := newReplica()
	all := append(storeSuccesses(t, s), storeRefusals(t, s)...)
	for _, age := range []time.Duration{6 * time.Hour, 72 * time.Hour} {
		env.Exec(t, `UPDATE fake.ahead SET by = $1`, startClock+age-time.Hour)
		before := newReplica() // a new one each time: it has nothing but the database
		for _, c := range all {
			if c.age == age {
				c.before(before)
			}
		}
		env.Exec(t, `UPDATE fake.ahead SET by = by + interval '1 hour'`)
		after := newReplica()
		for _, c := range all {
			if c.age == age {
				c.after(after)
			}
		}
	}
}

// replaceClock replaces the clock of the database, and returns a function that starts a
// replica which sees it. The clock is ahead by what the table fake.ahead says.
func replaceClock(t testing.TB, env *e2e.Env) func() *e2e.Service {
	t.Helper()
	env.Exec(t, `CREATE SCHEMA fake`)
	env.Exec(t, `CREATE TABLE fake.ahead (by interval)`)
	env.Exec(t, `INSERT INTO fake.ahead VALUES ($1)`, startClock)
	env.Exec(t, `GRANT USAGE ON SCHEMA fake TO PUBLIC`)
	env.Exec(t, `GRANT SELECT ON fake.ahead TO PUBLIC`)
	for _, function := range []string{"now", "clock_timestamp"} {
		env.Exec(t, `CREATE FUNCTION fake.`+function+`() RETURNS timestamptz LANGUAGE sql STABLE AS
			'SELECT pg_catalog.`+function+`() + by FROM fake.ahead'`)
	}
	setting := env.DatabaseSetting(t, "search_path", "fake, public, pg_catalog")
	return func() *e2e.Service { return env.StartReplica(t, setting) }
}

// storeSuccesses runs every command. When its record has expired, the second line of
// defence answers.
func storeSuccesses(t testing.TB, s *e2e.Service) (all []change) {
	t.Helper()
	for _, route := range routes.Guarded() {
		c, key := routes.Prepare(t, s, route), s.NewKey()
		first := c.MustRun(t, key)
		wantExpires(t, c, first, key, 72*time.Hour)
		all = append(all, change{
			72 * time.Hour,
			func(replica *e2e.Service) { c.WantReplay(t, first, replica.Send(t, c.WithKey(key))) },
			func(replica *e2e.Service) { wantSameResource(t, c, first, replica.Send(t, c.WithKey(key))) },
		})
	}
	return all
}

// storeRefusals has every refusal stored. It is replayed at first. Then its key is spent, and
// at last the command runs as new.
func storeRefusals(t testing.TB, s *e2e.Service) (all []change) {
	t.Helper()
	for _, refusal := range routes.Refusals() {
		r, key := routes.PrepareRefusal(t, s, refusal), s.NewKey()
		first := r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key))
		wantExpires(t, r.Command, first, key, 6*time.Hour)
		spent := func(replica *e2e.Service) { wantSpent(t, r, key, replica) }
		all = append(all, change{
			6 * time.Hour,
			func(replica *e2e.Service) { r.WantReplay(t, first, replica.Send(t, r.WithKey(key))) }, spent,
		}, change{
			72 * time.Hour, spent,
			func(replica *e2e.Service) { r.WantResult(t, replica.Send(t, r.WithKey(key)), "created", "") },
		})
	}
	return all
}

// wantSpent checks that a key has been spent on a refusal: a late copy of the request does
// nothing, although its cause may be gone, and a look-up says that it was refused.
func wantSpent(t testing.TB, r routes.Refusal, key string, replica *e2e.Service) {
	t.Helper()
	for range 2 {
		late := replica.WantProblem(t, http.StatusConflict, "idempotency_key_spent", r.WithKey(key))
		r.WantNotGuarded(t, late)
		if late.NextKey() != "new" || late.Header.Get("Retry-After") != "" || late.Header.Get("Idempotency-Key") != key {
			t.Errorf("a spent key: %v %s; want next_key new, the key, and no Retry-After", late.Header, late.Body)
		}
	}
	got := e2e.Want[struct {
		State  string
		Status int
	}](t, replica, http.StatusOK, e2e.LookupCall(r.Call.Token, key))
	if got.State != "completed" || got.Status != r.RefusedStatus {
		t.Errorf("the look-up of a spent key: %+v, want the refusal %d", got, r.RefusedStatus)
	}
	r.WantEffects(t, 0)
}

// wantExpires checks that a response names the end of its replays, by the database clock.
func wantExpires(t testing.TB, c routes.Command, first e2e.Reply, key string, ttl time.Duration) {
	t.Helper()
	var created time.Time
	err := c.DB.QueryRow(t.Context(), `SELECT created_at FROM idempotency_record WHERE scope = $1 AND key = $2`,
		c.Scope(), key).Scan(&created)
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(created.Add(-startClock)); age < 0 || age > time.Hour {
		t.Errorf("by the clock of the database the record is %v old, want new", age)
	}
	if got, want := first.Header.Get("Idempotency-Expires"), created.Add(ttl).UTC().Format(time.RFC3339); got != want {
		t.Errorf("Idempotency-Expires is %s, want %s", got, want)
	}
}

// A client that does what next_key says, and knows nothing else, has one effect: whatever is
// lost on the way, cut, changed or sent again.
func TestNextKey_ObeyedBlindlyHasOneEffect(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	newReplica := replaceClock(t, env)
	a, b := newReplica(), newReplica()
	rapid.Check(t, func(rt *rapid.T) {
		customer := env.UniqueName("customer")
		c := &obedientClient{
			t: t, replicas: []*e2e.Service{a, b}, right: a.ChargeCall(t, customer, "10.00"), charged: customer,
		}
		if rapid.Bool().Draw(rt, "funded") {
			a.Credit(t, customer, "1000.00")
		}
		rt.Repeat(c.actions())
		a.Credit(t, customer, "1000.00") // what refused the charge is gone
		c.finish()
		c.redeliver()
		c.pending.Wait()
		charges := a.Count(t, `SELECT count(*) FROM ledger_entry WHERE kind = 'charge' AND customer_id = $1`, customer)
		if charges != 1 {
			rt.Errorf("%d charges, want 1:\n%s", charges, strings.Join(c.log, "\n"))
		}
	})
}

// obedientClient wants one charge. Its key changes only where next_key says so.
type obedientClient struct {
	t        *testing.T
	replicas []*e2e.Service
	// right is the request of the client, with its present key, and charged the customer.
	right   e2e.Call
	charged string
	done    bool
	slept   int
	// sent are the requests that the network may deliver again, and pending those that it is
	// delivering while the client goes on.
	sent    []e2e.Call
	pending sync.WaitGroup
	log     []string
}

// actions are one attempt each, by what becomes of it.
func (c *obedientClient) actions() map[string]func(*rapid.T) {
	changed := func(change func(e2e.Call) e2e.Call) func(*rapid.T) {
		return func(*rapid.T) { c.attempt(change(c.right)) }
	}
	cut := func(call e2e.Call) e2e.Call { return call.WithBody(call.Body[:len(call.Body)/2]) }
	return map[string]func(*rapid.T){
		"arrives":           changed(func(call e2e.Call) e2e.Call { return call }),
		"is cut":            changed(cut),
		"has other amounts": changed(func(call e2e.Call) e2e.Call { return call.WithBody(strings.Replace(call.Body, "10.00", "11.00", 1)) }),
		"breaks a rule":     changed(func(call e2e.Call) e2e.Call { return call.WithBody(`{"amount": 10}`) }),
		"is too large":      changed(func(call e2e.Call) e2e.Call { return call.WithBody(call.Body + strings.Repeat(" ", 65<<10)) }),
		"is no JSON":        changed(func(call e2e.Call) e2e.Call { return call.WithHeader("Content-Type", "text/plain") }),
		"has no key":        changed(func(call e2e.Call) e2e.Call { return call.WithKey("") }),
		"has two keys":      changed(func(call e2e.Call) e2e.Call { return call.WithHeader("Idempotency-Key", call.Key, call.Key) }),
		"has no token":      changed(func(call e2e.Call) e2e.Call { return call.WithToken("") }),
		"has another role":  changed(func(call e2e.Call) e2e.Call { return call.WithToken(c.replicas[0].CustomerToken(c.t)) }),
		"loses its answer":  func(*rapid.T) { c.deliver(c.right); c.note("lost", c.right, "no answer") },
		"is slow":           func(*rapid.T) { c.inBackground(c.right) },
		"comes again":       func(*rapid.T) { c.redeliver() },
		"is refilled":       func(*rapid.T) { c.replicas[0].Credit(c.t, c.charged, "1000.00") },
		"sleeps":            func(*rapid.T) { c.sleep() },
	}
}

// finish sends the right request until the client knows that it is done.
func (c *obedientClient) finish() {
	for i := 0; !c.done; i++ {
		if i == 10 {
			c.t.Fatalf("the client is not done:\n%s", strings.Join(c.log, "\n"))
		}
		c.attempt(c.right)
	}
}

// attempt sends a request, unless the client is done, and obeys the answer.
func (c *obedientClient) attempt(call e2e.Call) {
	if c.done {
		return
	}
	r := c.deliver(call)
	c.note("attempt", call, r.Verdict()+" "+r.NextKey())
	if r.Status/100 == 2 {
		c.done = true
		return
	}
	c.obey(r.NextKey())
}

func (c *obedientClient) obey(nextKey string) {
	switch nextKey {
	case "same":
	case "new":
		c.right.Key = c.replicas[0].NewKey()
	case "look_up":
		c.lookUp()
	default:
		c.t.Errorf("next_key is %q after a charge", nextKey)
	}
}

// lookUp asks what became of the key: a success ends the operation, a refusal asks for a new
// key, and everything else for the same.
func (c *obedientClient) lookUp() {
	token := c.right.Token
	r := c.replicas[0].Send(c.t, e2e.LookupCall(token, c.right.Key))
	c.note("look-up", c.right, string(r.Body))
	switch body := string(r.Body); {
	case r.Status != http.StatusOK || !strings.Contains(body, `"completed"`):
	case strings.Contains(body, `"status":201`):
		c.done = true
	default:
		c.right.Key = c.replicas[0].NewKey()
	}
}

// deliver lets a request arrive at one of the replicas.
func (c *obedientClient) deliver(call e2e.Call) e2e.Reply {
	c.sent = append(c.sent, call)
	return c.replicas[len(c.sent)%2].Send(c.t, call)
}

// inBackground lets a request arrive while the client, which gave up on it, goes on.
func (c *obedientClient) inBackground(call e2e.Call) {
	c.sent = append(c.sent, call)
	replica := c.replicas[len(c.sent)%2]
	c.pending.Go(func() {
		if _, err := replica.Try(c.t.Context(), c.t, call); err != nil {
			c.t.Error(err)
		}
	})
	c.note("slow", call, "no answer")
}

// redeliver lets everything arrive again.
func (c *obedientClient) redeliver() {
	for _, call := range c.sent {
		c.note("copy", call, c.replicas[0].Send(c.t, call).Verdict())
	}
}

// sleep lets the time pass after which refusals are not replayed any more. Records are kept
// for longer than the client sleeps.
func (c *obedientClient) sleep() {
	c.slept++
	if c.slept > 5 {
		return
	}
	c.replicas[0].Exec(c.t, `UPDATE fake.ahead SET by = by + interval '7 hours'`)
	c.note("sleep", c.right, "")
}

func (c *obedientClient) note(act string, call e2e.Call, outcome string) {
	c.log = append(c.log, fmt.Sprintf("%-8s %-8s %.40q → %s", act, call.Key, call.Body, outcome))
}
