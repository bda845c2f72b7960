package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// What became of a record whose time is over.
var ends = map[string]string{
	"not yet cleaned": "UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1",
	"cleaned":         "DELETE FROM idempotency_record WHERE scope = $1",
}

// When the record is gone the business itself still knows the operation, for ever. The
// replica that is asked has not seen the record while it lived.
func TestGuardHasASecondLineWhenTheRecordIsGone(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			here, there := w.replica(), w.replica()
			eachGuardedRoute(t, here, func(c scene) {
				key := c.newKey()
				first := c.run(key)
				c.exec(end, c.principal())
				c = c.at(there.in(c))
				late := c.send(c.with(key))
				c.wantSameThing(first, late)
				c.wantEffects(1)
				c.wantReplay(late, c.send(c.with(key)))
			})
		})
	}
}

// wantSameThing checks that the second line answered: the status and the thing of the
// first answer, told anew.
func (c scene) wantSameThing(first, late reply) {
	c.Helper()
	if late.status != first.status || late.header.Get("Location") != first.header.Get("Location") {
		c.Errorf("got %d with Location %q, want %d with %q", late.status, late.header.Get("Location"),
			first.status, first.header.Get("Location"))
	}
	if diff := cmp.Diff(c.decode(first.body), c.decode(late.body)); diff != "" {
		c.Errorf("the late answer is another: %s", diff)
	}
	c.wantOutcome(late, "reused", "")
}

func (c scene) decode(body []byte) any {
	c.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		c.Fatalf("%v in %s", err, body)
	}
	return value
}

// The second line is no way around the first: the key still belongs to its request, and
// whoever used it wrongly in the meantime has not taken it away.
func TestGuardHasASecondLineAgainstAnotherRequest(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			here, there := w.replica(), w.replica()
			eachGuardedRoute(t, here, func(c scene) {
				if c.other == "" {
					c.Skip("there is nothing else to ask for")
				}
				key := c.newKey()
				first := c.run(key)
				c.exec(end, c.principal())
				c = c.at(there.in(c))
				asked := c.with(key)
				asked.body = c.other
				c.wantReused(asked)
				c.wantReused(asked)
				c.wantEffects(1)
				c.wantSameThing(first, c.send(c.with(key)))
			})
		})
	}
}

// Time passes by the database's clock: processes may disagree about the time, and the
// answers of all of them must expire together. This one is far ahead.
func TestGuardCountsTimeByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`CREATE SCHEMA fake`)
	w.exec(`CREATE TABLE fake.ahead AS SELECT interval '24000 hours' AS by`)
	for _, clock := range []string{"now", "clock_timestamp"} {
		w.exec(`CREATE FUNCTION fake.` + clock + `() RETURNS timestamptz LANGUAGE sql STABLE AS
			'SELECT pg_catalog.` + clock + `() + by FROM fake.ahead'`)
	}
	replica := func() *service { return w.replica(w.database("search_path", "fake, public, pg_catalog")) }
	s := replica()
	type stored struct {
		scene
		key     string
		first   reply
		ttl     time.Duration
		expired func(late scene) // checks what comes when the record has expired
	}
	var all []stored
	for id, route := range guardedRoutes {
		done := stored{scene: s.scene(id), key: s.newKey(), ttl: 72 * time.Hour}
		done.first = done.run(done.key)
		done.expired = func(late scene) { late.wantSameThing(done.first, late.send(late.with(done.key))) }
		all = append(all, done)
		for name := range route.refusals {
			r := s.refusal(id, name)
			refused := stored{scene: r.scene, key: s.newKey(), ttl: 6 * time.Hour}
			refused.first = r.wantProblem(r.refused, r.code, r.with(refused.key))
			refused.expired = func(late scene) { late.wantOutcome(late.send(late.with(refused.key)), "created", "") }
			all = append(all, refused)
		}
	}
	for _, k := range all {
		k.wantTTL(k.key, k.first, k.ttl)
	}
	for _, ttl := range []time.Duration{6 * time.Hour, 72 * time.Hour} {
		w.exec(`UPDATE fake.ahead SET by = interval '24000 hours' + $1 - interval '1 hour'`, ttl)
		before := replica() // each of them new: it has nothing but the database
		for _, k := range all {
			if k.ttl == ttl {
				k.wantReplay(k.first, before.send(k.with(k.key)))
			}
		}
		w.exec(`UPDATE fake.ahead SET by = by + interval '1 hour'`)
		after := replica()
		for _, k := range all {
			if k.ttl == ttl {
				k.expired(k.at(after))
			}
		}
	}
}

// wantTTL checks how long a record is kept, and that the answer says so.
func (c scene) wantTTL(key string, r reply, ttl time.Duration) {
	c.Helper()
	var created, expires time.Time
	err := c.db.QueryRow(c.Context(), `SELECT created_at - by, expires_at FROM idempotency_record, fake.ahead
		WHERE scope = $1 AND key = $2`, c.principal(), key).Scan(&created, &expires)
	if err != nil {
		c.Fatal(err)
	}
	if age := time.Since(created); age < 0 || age > time.Hour {
		c.Errorf("by the clock of the database the record is %v old, want new", age)
	}
	if got := expires.Sub(created.Add(24000 * time.Hour)); got != ttl {
		c.Errorf("the record is kept for %v, want %v", got, ttl)
	}
	if got, want := r.header.Get("Idempotency-Expires"), expires.UTC().Format(time.RFC3339); got != want {
		c.Errorf("Idempotency-Expires is %s, want %s", got, want)
	}
}

// lookup asks what became of a key.
func (s *service) lookup(token, key string) call {
	return call{method: "GET", path: "/idempotency-keys/" + url.PathEscape(key), token: token}
}

func TestGuardTellsWhatBecameOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := w.replica(), w.replica()
	eachGuardedRoute(t, here, func(c scene) {
		key := c.name("7?a=b%20&c#d") // a key is no URL, whatever it looks like
		look := c.lookup(c.call.token, key)
		c.wantProblem(http.StatusNotFound, "not_found", look)
		r := c.run(key)
		got := want[map[string]any](c.service, http.StatusOK, look)
		var created, expires time.Time
		if err := c.db.QueryRow(c.Context(), "SELECT created_at, expires_at FROM idempotency_record WHERE key = $1",
			key).Scan(&created, &expires); err != nil {
			c.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{
			"key": key, "command": c.operation.ID, "status": float64(r.status),
			"created_at": created.UTC().Format(time.RFC3339Nano), "expires_at": expires.UTC().Format(time.RFC3339Nano),
		}, got); diff != "" {
			c.Error(diff)
		}
		c.wantProblem(http.StatusNotFound, "not_found", c.lookup(c.token(c.name("stranger"), c.role), key))
		c.exec(ends["not yet cleaned"], c.principal())
		there.in(c).wantProblem(http.StatusNotFound, "not_found", look)
	})
}

func TestGuardTellsWhatBecameOfARefusal(t *testing.T) {
	t.Parallel()
	eachRefusal(t, newService(t), func(r refusal) {
		key := r.newKey()
		r.wantProblem(r.refused, r.code, r.with(key))
		got := want[struct {
			Command string
			Status  int
		}](r.service, http.StatusOK, r.lookup(r.call.token, key))
		if got.Command != r.operation.ID || got.Status != r.refused {
			r.Errorf("the key is that of %+v, want %s refused with %d", got, r.operation.ID, r.refused)
		}
	})
}

// The database has the last word: it takes no operation twice, whoever writes it.
func TestGuardHasUniqueIndexesBehindIt(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for id := range guardedRoutes {
		s.scene(id).run(s.newKey())
	}
	for table, unique := range map[string]struct{ columns, change string }{
		"orders":                {"(customer_id, created_by, idempotency_key)", `{"id": 99}`},
		"reservation_extension": {"(order_id, created_by, idempotency_key)", `{}`},
		// One that failed does not meet the other index, for one live payment an order.
		"payment":      {"(order_id, idempotency_key)", `{"id": 99, "status": "failed"}`},
		"refund":       {"(payment_id, created_by, idempotency_key)", `{"id": 99}`},
		"ledger_entry": {"(customer_id, created_by, idempotency_key)", `{"id": 99}`},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			index := s.in(t).index(table, unique.columns)
			_, err := s.db.Exec(t.Context(), "INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(old, $1)).* "+
				"FROM "+table+" old WHERE idempotency_key IS NOT NULL LIMIT 1", unique.change)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "23505" || refused.ConstraintName != index {
				t.Errorf("the same operation again: %v, want 23505 on %s", err, index)
			}
		})
	}
}

// index gives the name of a table's unique index over columns.
func (w *world) index(table, columns string) string {
	w.Helper()
	var name string
	err := w.db.QueryRow(w.Context(), `SELECT indexname FROM pg_indexes
		WHERE schemaname = 'public' AND tablename = $1 AND indexdef LIKE 'CREATE UNIQUE INDEX % USING btree ' || $2`,
		table, columns).Scan(&name)
	if err != nil {
		w.Fatalf("%s has no unique index over %s: %v", table, columns, err)
	}
	return name
}
