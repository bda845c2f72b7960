package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/core/payment"
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
		if got := loggedPrincipal(subject); got != want {
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
	entry.about.add(subjects{{"order_id", 17}})
	entry.about.add(showRefund(&payment.Refund{ID: 3, PaymentID: 5, OrderID: 17}).about)
	if want := (subjects{{"order_id", 17}, {"payment_id", 5}, {"refund_id", 3}}); entry.about != want {
		t.Errorf("the subjects are %v, want %v", entry.about, want)
	}
	for location, want := range map[string]subjects{"/orders/17": {{"order_id", 17}}, "/products/17": {}, "": {}} {
		if got := subjectOfLocation(location); got != want {
			t.Errorf("%s: %v, want %v", location, got, want)
		}
	}
}
