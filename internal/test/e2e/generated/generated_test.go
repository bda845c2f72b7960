// Package generated_test sends requests that are drawn from api/openapi.yaml to the
// service: valid ones, and for every rule of the contract one that breaks it.
package generated_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	runFor = flag.Duration("for", 0, "how long to send requests; 0 is one round")
	seed   = flag.Uint64("seed", 0, "seed of the requests; 0 is a random one")
)

// unlimited switches off what would refuse this many requests. Its own tests check it.
var unlimited = []string{
	"ORDERS_REQUESTS_PER_MINUTE=0", "ORDERS_IN_FLIGHT=0", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=0",
	"ORDERS_UNPAID_ORDERS=0", "ORDERS_RESERVATION_EXTENSIONS=0",
}

// TestContract_HoldsForGeneratedRequests sends rounds of requests. In each, every
// operation gets valid requests, and one request for each way to break one. It is prepared
// just before, because the requests of another may delete what it needs.
func TestContract_HoldsForGeneratedRequests(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1_000_000_000) + 1
	}
	t.Logf("to send the same requests: make -C lab contract SEED=%d", first)
	t.Cleanup(func() { t.Logf("figures: %d requests", sent) })
	s := startQuietly(t)
	deadline := time.Now().Add(*runFor)
	for round := uint64(0); round == 0 || time.Now().Before(deadline); round++ {
		for _, declared := range operations(s) {
			op := prepare(t, s, declared)
			sendValid(t, op, first+round)
			before := contents(t, s)
			sendBroken(t, op)
			if diff := cmp.Diff(before, contents(t, s)); diff != "" {
				t.Fatalf("%s: refused requests changed the database:\n%s", op.ID, diff)
			}
		}
	}
}

// startQuietly starts a replica that accepts cards and logs failures only. The invariants
// of the database are checked when the test ends.
func startQuietly(t *testing.T) *e2e.Service {
	t.Helper()
	s := e2e.NewEnv(t).StartReplicaWithLog(t, func(config.Config) zerolog.Logger {
		return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	}, append(unlimited, e2e.CardSettings(e2e.SilentProvider)...)...)
	s.StockUp(t, e2e.Stock{})
	return s
}

// drawFrom makes rapid draw one request a check, from a seed. What a failure needs is in
// its message.
func drawFrom(t *testing.T, seed uint64) {
	t.Helper()
	for name, value := range map[string]string{
		"rapid.checks": "1", "rapid.seed": strconv.FormatUint(seed, 10), "rapid.nofailfile": "true", "rapid.shrinktime": "5s",
	} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// quiet drops the line that rapid logs for each check.
type quiet struct{ rapid.TB }

// Logf does nothing.
func (quiet) Logf(string, ...any) {}

// leastValid is how many valid requests an operation gets in a round. Until one has
// succeeded, more follow, all about what was prepared.
const leastValid, mostValid = 3, 30

func sendValid(t *testing.T, op operation, seed uint64) {
	t.Helper()
	succeeded := false
	for i := uint64(0); i < leastValid || !succeeded && i < mostValid; i++ {
		drawFrom(t, seed+i<<32)
		ofTen := kept
		if i >= leastValid {
			ofTen = always
		}
		rapid.Check(quiet{t}, func(t *rapid.T) {
			call := op.call(op.valid(t, ofTen))
			reply := send(t, op, call)
			succeeded = succeeded || reply.Status/100 == 2
			wantSoundReply(t, op, call, reply)
			if op.Idempotent && reply.Status/100 == 2 {
				wantReplay(t, op, call, reply)
			}
		})
	}
	if !succeeded {
		t.Fatalf("%s: no request succeeded: this proves nothing", op.ID)
	}
}

// refusedAtTheEdge are the refusals that no valid request gets.
var refusedAtTheEdge = []string{
	"400 idempotency_key_required", "400 idempotency_key_invalid", "400 malformed_request", "401 unauthenticated", "403 forbidden_role",
	"405 method_not_allowed", "413 body_too_large", "415 unsupported_media_type", "429 rate_limited",
}

// wantSoundReply checks the answer to a valid request, which may not suit what exists.
func wantSoundReply(t *rapid.T, op operation, c e2e.Call, r e2e.Reply) {
	if slices.Contains(refusedAtTheEdge, r.Verdict()) {
		t.Errorf("%s: a valid request is refused: %s\n%s", describe(c), r.Verdict(), r.Body)
	}
	if echoed := r.Header.Get("Idempotency-Key") != ""; echoed != op.Idempotent {
		t.Errorf("%s: the response echoes the key: %t, and the contract requires one: %t", describe(c), echoed, op.Idempotent)
	}
}

// wantReplay checks that the same request, spelled in another way, gets the stored
// response.
func wantReplay(t *rapid.T, op operation, c e2e.Call, first e2e.Reply) {
	var spelled bytes.Buffer
	if err := json.Indent(&spelled, []byte(c.Body), " ", "\t"); err != nil {
		t.Fatal(err)
	}
	again := send(t, op, c.WithBody(spelled.String()))
	if !again.Replayed() || !again.SameAs(first) {
		t.Errorf("%s: the second response is %d %s\nthe first was %d %s", describe(c), again.Status, again.Body, first.Status, first.Body)
	}
}

// contents returns a digest of the rows of every table.
func contents(t *testing.T, s *e2e.Service) map[string]string {
	t.Helper()
	var tables []string
	err := s.DB.QueryRow(t.Context(), `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables)
	if err != nil || len(tables) == 0 {
		t.Fatalf("list the tables: %v, %v", tables, err)
	}
	rows := map[string]string{}
	for _, table := range tables {
		var digest string
		query := fmt.Sprintf(`SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM %q t`, table)
		if err := s.DB.QueryRow(t.Context(), query).Scan(&digest); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		rows[table] = digest
	}
	return rows
}

// internals are words by which a response would disclose how the service is made.
var internals = regexp.MustCompile(`(?i)sqlstate|pgx|postgres|\bsql\b|numeric field|constraint|relation|goroutine|panic|\.go:[0-9]|json:|jsontext|jsonschema|strconv|base64|unmarshal`)

func sendBroken(t *testing.T, op operation) {
	t.Helper()
	for _, d := range op.damages() {
		rapid.Check(quiet{t}, func(t *rapid.T) {
			r := op.valid(t, always)
			d.apply(t, &r)
			call := op.call(r)
			reply := send(t, op, call)
			if reply.Verdict() != d.want || d.pointer != "" && !slices.Contains(reply.Pointers(), d.pointer) {
				t.Errorf("%s: %s: got %s at %v, want %s at %q\n%s",
					d.kind, describe(call), reply.Verdict(), reply.Pointers(), d.want, d.pointer, reply.Body)
			}
			if reply.Header.Get("Idempotency-Result") != "" {
				t.Errorf("%s: %s reached the guard", d.kind, describe(call))
			}
			if requestID := reply.Header.Get("X-Request-Id"); internals.Match(bytes.ReplaceAll(reply.Body, []byte(requestID), nil)) {
				t.Errorf("%s: the response discloses too much: %s", d.kind, reply.Body)
			}
			if reply.Status == http.StatusMethodNotAllowed {
				wantAllow(t, op, reply)
			}
		})
	}
}

// wantAllow checks that a refused method names those of the path (RFC 9110).
func wantAllow(t *rapid.T, op operation, r e2e.Reply) {
	allowed := slices.Sorted(slices.Values(r.Header.Values("Allow")))
	if !slices.Equal(allowed, op.methods) {
		t.Errorf("%s: Allow is %q, want %q", op.Path, allowed, op.methods)
	}
}

// sent counts the requests.
var sent int

// send sends a request, and checks the response against the contract.
func send(t *rapid.T, op operation, c e2e.Call) e2e.Reply {
	sent++
	r, err := op.service.Try(t.Context(), t, c)
	if err != nil {
		t.Fatalf("%s: %v", describe(c), err)
	}
	if r.Status >= 500 {
		t.Errorf("%s: %d %s", describe(c), r.Status, r.Body)
	}
	return r
}

// describe returns a request without its token.
func describe(c e2e.Call) string {
	return fmt.Sprintf("%s %s with key %q and %.2000q", c.Method, c.Path, c.Header["Idempotency-Key"], c.Body)
}
