package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency/idempotencytest"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newPool returns a pool on an empty schema of its own.
func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	u, err := url.Parse(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", "giftcards")
	u.RawQuery = query.Encode()
	pool, err := pgxpool.New(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	mustExec(t, pool, "CREATE SCHEMA giftcards")
	return pool
}

func mustExec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func mustCount(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStore(t *testing.T) {
	t.Parallel()
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Fixture {
		t.Helper()
		pool := newPool(t)
		mustExec(t, pool, recordSchema+"; CREATE TABLE effect ()")
		return idempotencytest.Fixture{
			Store: store{pool}, Replica: store{pool},
			Write: func(ctx context.Context) error {
				_, err := txOf(ctx).Exec(ctx, "INSERT INTO effect DEFAULT VALUES")
				return err
			},
			Read: func(ctx context.Context) error {
				var n int
				return txOf(ctx).QueryRow(ctx, "SELECT count(*) FROM effect").Scan(&n)
			},
			Effects: func(t *testing.T) int {
				t.Helper()
				return mustCount(t, pool, "SELECT count(*) FROM effect")
			},
		}
	})
}

func TestDeleteExpired_DeletesOnlyExpiredRecords(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	mustExec(t, pool, recordSchema)
	mustExec(t, pool, `INSERT INTO idempotency_record SELECT 'alice', i::text, 'redeem', '', 201, '', '', '', now(),
		now() + CASE WHEN i <= 3 THEN -1 ELSE 1 END * interval '1 hour' FROM generate_series(1, 5) i`)
	for _, want := range []int64{2, 1, 0} {
		if n, err := (store{pool}).DeleteExpired(t.Context(), 2); n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if n := mustCount(t, pool, "SELECT count(*) FROM idempotency_record"); n != 2 {
		t.Errorf("%d records remain, want 2", n)
	}
}

// service is the running example.
type service struct {
	url  string
	pool *pgxpool.Pool
}

func newService(t *testing.T) service {
	t.Helper()
	pool := newPool(t)
	handler, err := newHandler(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return service{server.URL, pool}
}

// reply is a response: its status and its body, and whether it was replayed.
type reply struct {
	status   int
	body     string
	replayed bool
}

// redeem sends a redemption by alice.
func (s service) redeem(t *testing.T, key, body string) reply {
	t.Helper()
	return s.send(t, "Bearer alice-token", key, body)
}

func (s service) send(t *testing.T, token, key, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/giftcards/WELCOME-50/redemptions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, string(text), resp.Header.Get("Idempotent-Replayed") == "true"}
}

func (s service) wantRemaining(t *testing.T, cents int) {
	t.Helper()
	if n := mustCount(t, s.pool, "SELECT remaining_cents FROM giftcard"); n != cents {
		t.Errorf("%d cents remain, want %d", n, cents)
	}
}

func TestRedeem_ReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := s.redeem(t, "key-1", `{"amount_cents": 1000}`)
	if first.status != http.StatusCreated || first.replayed {
		t.Fatalf("%+v", first)
	}
	retry := s.redeem(t, `"key-1"`, "{ \"amount_cents\":1000 }")
	if !retry.replayed || retry.status != first.status || retry.body != first.body {
		t.Errorf("retry %+v, first %+v", retry, first)
	}
	s.wantRemaining(t, 4000)
}

func TestRedeem_RunsOnceForRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newService(t)
	replies := make([]reply, 10)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = s.redeem(t, "key-1", `{"amount_cents": 1000}`) })
	}
	all.Wait()
	for _, r := range replies {
		if r.status != http.StatusCreated || r.body != replies[0].body {
			t.Errorf("%+v, want the response of all", r)
		}
	}
	s.wantRemaining(t, 4000)
}

func TestRedeem_RefusesWhatTheGuardCannotAccept(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.redeem(t, "key-1", `{"amount_cents": 1000}`)
	for name, test := range map[string]struct {
		got    reply
		status int
		code   string
	}{
		"no key":               {s.redeem(t, "", `{"amount_cents": 1}`), 400, "idempotency_key_required"},
		"a bad key":            {s.redeem(t, "a,b", `{"amount_cents": 1}`), 400, "idempotency_key_invalid"},
		"no token":             {s.send(t, "", "key-2", `{"amount_cents": 1}`), 401, "unauthenticated"},
		"another body":         {s.redeem(t, "key-1", `{"amount_cents": 1}`), 409, "idempotency_key_reused"},
		"an unreadable body":   {s.redeem(t, "key-3", `{`), 422, "validation_failed"},
		"more than there is":   {s.redeem(t, "key-4", `{"amount_cents": 4001}`), 402, "giftcard_exhausted"},
		"the refusal, retried": {s.redeem(t, "key-4", `{"amount_cents": 4001}`), 402, "giftcard_exhausted"},
	} {
		if test.got.status != test.status || !strings.Contains(test.got.body, test.code) {
			t.Errorf("%s: %+v, want %d %s", name, test.got, test.status, test.code)
		}
	}
	s.wantRemaining(t, 4000)
	if r := s.redeem(t, "key-3", `{"amount_cents": 1}`); r.status != http.StatusCreated {
		t.Errorf("the key of an unreadable request is not free: %+v", r)
	}
}

func TestRedeem_KeysBelongToTheirCustomer(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.redeem(t, "key-1", `{"amount_cents": 1000}`)
	if r := s.send(t, "Bearer bob-token", "key-1", `{"amount_cents": 500}`); r.status != http.StatusCreated || r.replayed {
		t.Errorf("bob's equal key: %+v", r)
	}
	s.wantRemaining(t, 3500)
}

func TestRedeem_SecondLineOfDefenceAnswersAfterExpiry(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := s.redeem(t, "key-1", `{"amount_cents": 1000}`)
	for _, test := range []struct {
		body   string
		status int
	}{
		{`{"amount_cents": 1000}`, http.StatusCreated},
		{`{"amount_cents": 2000}`, http.StatusConflict},
		{`{"amount_cents": 1000}`, http.StatusCreated}, // the conflict has not taken the key
	} {
		mustExec(t, s.pool, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
		late := s.redeem(t, "key-1", test.body)
		if late.status != test.status || (test.status == first.status && late.body != first.body) {
			t.Errorf("%s: %+v, want %d", test.body, late, test.status)
		}
	}
	s.wantRemaining(t, 4000)
}

func TestTxOf_PanicsOutsideACommand(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a write outside the transaction of the guard was possible")
		}
	}()
	t.Errorf("got the transaction %v", txOf(context.Background()))
}
