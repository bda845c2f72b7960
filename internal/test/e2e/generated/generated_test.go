package generated_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
)

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
// operation gets valid requests, and one request for each way to break one.
func TestContract_HoldsForGeneratedRequests(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1_000_000_000) + 1
	}
	t.Logf("to send the same requests: make contract-fuzz SEED=%d", first)
	s := startQuietly(t)
	sent := counts{}
	deadline := time.Now().Add(*runFor)
	for round := uint64(0); round == 0 || time.Now().Before(deadline); round++ {
		drawFrom(t, first+round)
		for _, op := range prepare(t, s) {
			sendValid(t, op, sent)
			sendBroken(t, op, sent)
		}
		if t.Failed() {
			break
		}
	}
	sent.report(t)
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

// leastValid is how many valid requests an operation gets in a round. More follow until
// one has succeeded.
const leastValid, mostValid = 3, 30

func sendValid(t *testing.T, op operation, sent counts) {
	t.Helper()
	succeeded := false
	for i := 0; i < leastValid || !succeeded && i < mostValid; i++ {
		drawn := i
		rapid.Check(quiet{t}, func(t *rapid.T) {
			rapid.Just(drawn).Draw(t, "attempt")
			for range drawn { // another request than the last one
				rapid.Uint64().Draw(t, "skipped")
			}
			call := op.call(op.valid(t, kept))
			reply := send(t, op, call)
			succeeded = succeeded || reply.Status/100 == 2
			sent.count(op.ID, "valid, "+strconv.Itoa(reply.Status/100)+"xx")
			wantSoundReply(t, call, reply)
			if op.Idempotent && reply.Status/100 == 2 {
				wantReplay(t, op, call, reply)
			}
		})
	}
}

// refusedAtTheEdge are the refusals that no valid request gets.
var refusedAtTheEdge = []string{
	"400 idempotency_key_required", "400 idempotency_key_invalid", "400 malformed_request", "401 unauthenticated", "403 forbidden_role",
	"405 method_not_allowed", "413 body_too_large", "415 unsupported_media_type", "429 rate_limited",
}

// wantSoundReply checks the answer to a valid request, which may not suit what exists.
func wantSoundReply(t *rapid.T, c e2e.Call, r e2e.Reply) {
	if slices.Contains(refusedAtTheEdge, r.Verdict()) {
		t.Errorf("%s: a valid request is refused: %s\n%s", describe(c), r.Verdict(), r.Body)
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

func sendBroken(t *testing.T, op operation, sent counts) {
	t.Helper()
	for _, d := range op.damages() {
		rapid.Check(quiet{t}, func(t *rapid.T) {
			r := op.valid(t, always)
			d.apply(t, &r)
			call := op.call(r)
			reply := send(t, op, call)
			sent.count(op.ID, d.kind)
			if reply.Verdict() != d.want || d.pointer != "" && !slices.Contains(reply.Pointers(), d.pointer) {
				t.Errorf("%s: %s: got %s at %v, want %s at %q\n%s",
					d.kind, describe(call), reply.Verdict(), reply.Pointers(), d.want, d.pointer, reply.Body)
			}
			if reply.Header.Get("Idempotency-Result") != "" {
				t.Errorf("%s: %s reached the guard", d.kind, describe(call))
			}
		})
	}
}

// send sends a request, and checks the response against the contract.
func send(t *rapid.T, op operation, c e2e.Call) e2e.Reply {
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

// counts holds how many requests of each kind an operation got.
type counts map[string]map[string]int

func (c counts) count(operation, kind string) {
	if c[operation] == nil {
		c[operation] = map[string]int{}
	}
	c[operation][kind]++
}

// report logs the counts. The test fails if an operation never succeeded, or got no
// broken request: it would prove nothing.
func (c counts) report(t *testing.T) {
	t.Helper()
	valid, broken := 0, 0
	for _, operation := range slices.Sorted(maps.Keys(c)) {
		kinds, ofOperation := []string{}, 0
		for _, kind := range slices.Sorted(maps.Keys(c[operation])) {
			n := c[operation][kind]
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
			if strings.HasPrefix(kind, "valid") {
				valid += n
			} else {
				ofOperation += n
			}
		}
		broken += ofOperation
		t.Logf("%s: %s", operation, strings.Join(kinds, ", "))
		if c[operation]["valid, 2xx"] == 0 || ofOperation == 0 {
			t.Errorf("%s: no request succeeded, or none was broken", operation)
		}
	}
	t.Logf("%d valid requests, %d broken ones, of %d operations", valid, broken, len(c))
}
