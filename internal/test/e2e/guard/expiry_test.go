package guard_test

import (
	"net/http"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
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
	for _, route := range e2e.GuardedRoutes() {
		c, key := s.Prepare(t, route), s.NewKey()
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
	for _, refusal := range e2e.GuardedRefusals() {
		r, key := s.PrepareRefusal(t, refusal), s.NewKey()
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
func wantSpent(t testing.TB, r e2e.Refusal, key string, replica *e2e.Service) {
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
func wantExpires(t testing.TB, c e2e.Command, first e2e.Reply, key string, ttl time.Duration) {
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
