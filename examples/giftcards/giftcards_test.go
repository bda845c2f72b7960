package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// databaseURL returns the URL of a server on which each test makes a database of its own.
func databaseURL(t *testing.T) string {
	t.Helper()
	return pgtest.New(t)
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
