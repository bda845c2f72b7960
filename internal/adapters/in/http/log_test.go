package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/kit/guard"
)

// logged serves a request of an unknown path and returns its line in the log.
func logged(t *testing.T, method, requestID, remote string) map[string]any {
	t.Helper()
	var log bytes.Buffer
	a := &api{Config: Config{Log: zerolog.New(&log), Observe: unobserved{}}}
	r := httptest.NewRequest("GET", "/anna@example.com?access_token=secret", nil)
	r.Method, r.RemoteAddr = method, remote
	r.Header.Set("X-Request-Id", requestID)
	a.router(nil, a.publicRoutes()).ServeHTTP(httptest.NewRecorder(), r)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, &log)
	}
	return line
}

func TestLog_HasTheAddressOfTheOtherEnd(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:51000": "192.0.2.7", "[2001:db8::7]:51000": "2001:db8::7", "@": "@",
	} {
		if got := logged(t, "GET", "r-1", remote)["remote_addr"]; got != want {
			t.Errorf("%s: got %v, want %s", remote, got, want)
		}
	}
}

func TestLog_RepeatsOnlyMethodsOfHTTP(t *testing.T) {
	for method, want := range map[string]string{"GET": "GET", "PATCH": "PATCH", "hunter2": "other", "BEARER-SECRET": "other"} {
		if got := logged(t, method, "r-1", "")["method"]; got != want {
			t.Errorf("%s: got %v, want %s", method, got, want)
		}
	}
}

func TestLog_RepeatsOnlyPlainRequestIDsWithoutACardNumber(t *testing.T) {
	for id, repeated := range map[string]bool{
		"r-1": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "with space": false, "quote\"": false, "{}": false, "é": false,
		"4242424242424242": false, "4242-4242-4242-4242": false,
	} {
		if got := logged(t, "GET", id, "")["request_id"]; (got == id) != repeated || got == "" {
			t.Errorf("%s: the request ID is %v", id, got)
		}
	}
}

func TestLog_HashesPrincipalsThatLookPersonal(t *testing.T) {
	for subject, want := range map[string]string{
		"": "", "sber-42": "sber-42", "auth0|42": "auth0|42",
		"anna@example.com": "sha256:f7d54c22dda5", "+79161234567": "sha256:c795313d1a25",
	} {
		if got := loggedSubject(subject); got != want {
			t.Errorf("%s: got %s, want %s", subject, got, want)
		}
	}
}

// Probes come every second, so that only their failures matter.
func TestLog_HasProbesThatSucceedAtDebug(t *testing.T) {
	for _, c := range []struct {
		path  string
		ready error
		want  string
	}{
		{"/health/live", nil, "debug"}, {"/health/ready", nil, "debug"}, {"/health/ready", errors.New("no database"), "error"},
		{"/openapi.yaml", nil, "info"},
	} {
		var log bytes.Buffer
		a := &api{Config: Config{Log: zerolog.New(&log), Observe: unobserved{}, Ready: func(context.Context) error { return c.ready }}}
		a.router(nil, a.publicRoutes()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", c.path, nil))
		if !strings.Contains(log.String(), `"level":"`+c.want+`"`) {
			t.Errorf("%s, %v: the line is not at %s: %s", c.path, c.ready, c.want, &log)
		}
	}
}

func TestLog_NamesWhatTheRequestWasAbout(t *testing.T) {
	for path, want := range map[string]string{
		"/orders/17/payments": `"order_id":17`, "/refunds/4": `"refund_id":4`,
		"/customers/17/balance": "", "/orders/anna@example.com/payments": "", "/orders/999999999/payments": `"order_id":999999999`, "/orders/4242424242424242/payments": "", "/orders/9161234567/payments": "",
	} {
		var log bytes.Buffer
		a := newTestAPI(t, nil)
		a.Log = zerolog.New(&log)
		a.Tokens = new(token.Verifier) // the request has no token
		a.router(a.routes(), nil).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		named := regexp.MustCompile(`"[a-z]+_id":[0-9]+`).FindString(log.String())
		if named != want {
			t.Errorf("%s: the line names %q, want %q: %s", path, named, want, &log)
		}
	}
}

func TestLog_NamesWhatTheResultBelongsTo(t *testing.T) {
	var entry logEntry
	entry.resources.Add(resources.Set{{Name: "order_id", ID: 17}})
	entry.resources.Add(showRefund(&payment.Refund{ID: 3, PaymentID: 5, OrderID: 17}).resources)
	if want := (resources.Set{{Name: "order_id", ID: 17}, {Name: "payment_id", ID: 5}, {Name: "refund_id", ID: 3}}); entry.resources != want {
		t.Errorf("the resources are %v, want %v", entry.resources, want)
	}
	for location, want := range map[string]resources.Set{"/orders/17": {{Name: "order_id", ID: 17}}, "/products/17": {}, "": {}} {
		if got := resources.OfLocation(location); got != want {
			t.Errorf("%s: %v, want %v", location, got, want)
		}
	}
}

// observed records what an observer is called with.
type observed struct {
	begun    int
	requests []string
	keys     []string
	replays  []time.Duration
}

func (o *observed) RequestBegan() { o.begun++ }

func (o *observed) RequestEnded(route, method string, status int, _ time.Duration) {
	o.requests = append(o.requests, method+" "+route+" "+strconv.Itoa(status))
}

func (o *observed) KeyEnded(outcome string)        { o.keys = append(o.keys, outcome) }
func (o *observed) DuplicateWaited(time.Duration)  {}
func (o *observed) RecordReplayed(d time.Duration) { o.replays = append(o.replays, d) }

// logger is a log that reports the requests that are in flight while it is written.
type logger struct {
	saw      *observed
	inFlight int
}

func (l *logger) Write(line []byte) (int, error) {
	l.inFlight = l.saw.begun - len(l.saw.requests)
	return len(line), nil
}

// A log that hangs must not look like a service without requests.
func TestObserve_CountsARequestUntilItIsLogged(t *testing.T) {
	t.Parallel()
	saw := &observed{}
	log := &logger{saw: saw}
	a := &api{Config: Config{Log: zerolog.New(log), Observe: saw}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/no/such/path", http.NoBody)
	a.router(nil, a.publicRoutes()).ServeHTTP(httptest.NewRecorder(), r)
	if log.inFlight != 1 || len(saw.requests) != 1 {
		t.Errorf("%d requests are in flight while the log is written, and %d ended", log.inFlight, len(saw.requests))
	}
}

// A method or a path that nobody knows may be a secret, and there is no end of them.
func TestObserve_NamesOnlyKnownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	var saw observed
	a := &api{Config: Config{Log: zerolog.Nop(), Observe: &saw}}
	handler := a.router(nil, a.publicRoutes())
	for _, sent := range [][2]string{
		{"GET", "/health/live"}, {"GET", "/anna@example.com"}, {"hunter2", "/health/live"}, {"hunter2", "/x/../y?z"}, {"PUT", "/health/live"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, sent[1], http.NoBody)
		r.Method = sent[0]
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{"GET /health/live 200", "GET none 404", "other none 405", "other none 405", "PUT none 405"}
	if diff := cmp.Diff(want, saw.requests); diff != "" || saw.begun != len(want) {
		t.Errorf("%d requests began; %s", saw.begun, diff)
	}
}

// serveObserved is serveCancel with an observer.
func serveObserved(t *testing.T, to Observer, store guard.LookupStore, call useCase) http.Handler {
	t.Helper()
	a := newTestAPI(t, store)
	a.Observe = to
	return serveGuarded(a, call)
}

func TestObserve_ReportsWhatBecameOfKeys(t *testing.T) {
	t.Parallel()
	repeat := func(context.Context) (*success, error) {
		return &success{status: http.StatusOK, body: 1, repeated: true}, nil
	}
	fail := func(err error) useCase { return func(context.Context) (*success, error) { return nil, err } }
	for name, c := range map[string]struct {
		call   useCase
		refuse error // of the store
		keys   []string
		want   []string
	}{
		"success and replay":     {call: succeed, keys: []string{"k", "k"}, want: []string{"created", "reused"}},
		"repeated operation":     {call: repeat, keys: []string{"k"}, want: []string{"reused"}},
		"refusal and its replay": {call: fail(core.InvalidField("/a", "d")), keys: []string{"k", "k"}, want: []string{"refused", "reused"}},
		"nothing found":          {call: fail(core.NotFound("order")), keys: []string{"k"}, want: []string{"failed"}},
		"defect":                 {call: fail(errors.New("a defect")), keys: []string{"k"}, want: []string{"failed"}},
		"COMMIT not answered":    {refuse: core.ErrOutcomeUnknown, keys: []string{"k"}, want: []string{"unknown"}},
		"in progress":            {refuse: guard.ErrInProgress, keys: []string{"k"}, want: []string{"in_progress"}},
		"reused":                 {refuse: guard.ErrKeyReused, keys: []string{"k"}, want: []string{"key_reused"}},
		"no key":                 {keys: []string{""}, want: []string{"key_required"}},
		"bad key":                {keys: []string{"a;b"}, want: []string{"key_invalid"}},
	} {
		var saw observed
		store := newMemoryStore()
		store.refuse = c.refuse
		handler := serveObserved(t, &saw, store, c.call)
		for _, key := range c.keys {
			post(handler, cancelPath, key, `{}`)
		}
		if diff := cmp.Diff(c.want, saw.keys); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if replays := slices.Contains(c.want, "reused") && len(c.keys) == 2; replays != (len(saw.replays) == 1) {
			t.Errorf("%s: the ages of replays are %v", name, saw.replays)
		}
	}
}

// A request that fails before its key is read, or whose route needs none, is no outcome.
func TestObserve_ReportsNoKeyThatWasNotUsed(t *testing.T) {
	t.Parallel()
	var saw observed
	handler := serveObserved(t, &saw, newMemoryStore(), nil)
	post(handler, "/elsewhere", "k", `{}`)
	post(handler, cancelPath+"?unknown=1", "k", `{}`)
	if len(saw.keys) != 0 || len(saw.requests) != 2 {
		t.Errorf("keys: %v of requests %v", saw.keys, saw.requests)
	}
}
