package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
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

func TestLog_RepeatsNoRequestIDWithACardNumber(t *testing.T) {
	for id, repeated := range map[string]bool{"r-1": true, "4242424242424242": false, "4242-4242-4242-4242": false} {
		if got := logged(t, "GET", id, "")["request_id"]; (got == id) != repeated {
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
