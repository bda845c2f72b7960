package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/orders/internal/dev/cluster"
)

func TestRun_RefusesUnknownArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"start": "orders-cluster --help", "--nodes=5": "orders-cluster --help", "--commit=never": "strict, available or alone",
	} {
		if err := run(t.Context(), []string{args}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", args, err, want)
		}
	}
}

func TestRun_PrintsItsHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &out); err != nil || !strings.HasPrefix(out.String(), "orders-cluster runs") {
		t.Errorf("%v:\n%s", err, &out)
	}
}

func TestHandler_RefusesUnknownNodesAndStrangers(t *testing.T) {
	t.Parallel()
	for want, request := range map[int]*http.Request{
		http.StatusNotFound:  httptest.NewRequest(http.MethodPut, "http://localhost/nodes/oracle1/kill", http.NoBody),
		http.StatusForbidden: httptest.NewRequest(http.MethodPut, "http://evil.example/nodes/postgres1/kill", http.NoBody),
	} {
		request.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		handler(&cluster.Cluster{}).ServeHTTP(w, request)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", request.URL, w.Code, want)
		}
	}
}
