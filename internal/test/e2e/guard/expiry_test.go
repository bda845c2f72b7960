package guard_test

import (
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// startClock is how far the clock of the database is ahead: processes may disagree
// about the time, and all of them must let a record expire together.
const startClock = 24000 * time.Hour

// storedResponse is a response under a key, and how long it must be stored.
type storedResponse struct {
	e2e.Command
	key   string
	first e2e.Reply
	ttl   time.Duration
	// checkExpired checks the response of a replica when the record has expired.
	checkExpired func(replica *e2e.Service)
}

// Time passes by the clock of the database, which is far ahead here.
func TestGuard_ExpiresRecordsByClockOfDatabase(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	newReplica := replaceClock(t, env)
	s := newReplica()
	all := append(storeSuccesses(t, s), storeRefusals(t, s)...)
	for _, stored := range all {
		wantTTL(t, stored)
	}
	for _, ttl := range []time.Duration{6 * time.Hour, 72 * time.Hour} {
		env.Exec(t, `UPDATE fake.ahead SET by = $1`, startClock+ttl-time.Hour)
		before := newReplica() // a new one each time: it has nothing but the database
		for _, stored := range all {
			if stored.ttl == ttl {
				stored.WantReplay(t, stored.first, before.Send(t, stored.WithKey(stored.key)))
			}
		}
		env.Exec(t, `UPDATE fake.ahead SET by = by + interval '1 hour'`)
		after := newReplica()
		for _, stored := range all {
			if stored.ttl == ttl {
				stored.checkExpired(after)
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
func storeSuccesses(t testing.TB, s *e2e.Service) (all []storedResponse) {
	t.Helper()
	for _, route := range e2e.GuardedRoutes() {
		c, key := s.Prepare(t, route), s.NewKey()
		first := c.MustRun(t, key)
		all = append(all, storedResponse{c, key, first, 72 * time.Hour, func(replica *e2e.Service) {
			wantSameResource(t, c, first, replica.Send(t, c.WithKey(key)))
		}})
	}
	return all
}

// storeRefusals has every refusal stored. When its record has expired, the command runs
// as new.
func storeRefusals(t testing.TB, s *e2e.Service) (all []storedResponse) {
	t.Helper()
	for _, refusal := range e2e.GuardedRefusals() {
		r, key := s.PrepareRefusal(t, refusal), s.NewKey()
		first := r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key))
		all = append(all, storedResponse{r.Command, key, first, 6 * time.Hour, func(replica *e2e.Service) {
			r.WantResult(t, replica.Send(t, r.WithKey(key)), "created", "")
		}})
	}
	return all
}

// wantTTL checks how long a record is stored, and that the response says so.
func wantTTL(t testing.TB, stored storedResponse) {
	t.Helper()
	var created, expires time.Time
	err := stored.DB.QueryRow(t.Context(), `SELECT created_at - by, expires_at FROM idempotency_record, fake.ahead
		WHERE scope = $1 AND key = $2`, stored.Scope(), stored.key).Scan(&created, &expires)
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(created); age < 0 || age > time.Hour {
		t.Errorf("by the clock of the database the record is %v old, want new", age)
	}
	if got := expires.Sub(created.Add(startClock)); got != stored.ttl {
		t.Errorf("the record is stored for %v, want %v", got, stored.ttl)
	}
	if got, want := stored.first.Header.Get("Idempotency-Expires"), expires.UTC().Format(time.RFC3339); got != want {
		t.Errorf("Idempotency-Expires is %s, want %s", got, want)
	}
}
