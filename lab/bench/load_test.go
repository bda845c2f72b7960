package main

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestLoad_EndsAtUnexpectedResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	l := load{
		addr: server.Listener.Addr().String(), connections: 1,
		next:  func(*rand.Rand) (request, error) { return request{path: "/"}, nil },
		check: command{status: http.StatusOK}.check,
	}

	_, err := l.run(t.Context(), timing{0, time.Hour}, func() error { return nil })

	if err == nil || !strings.Contains(err.Error(), "unexpected response") {
		t.Errorf("got error %v, want an unexpected response", err)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	sorted := make([]time.Duration, 101)
	for i := range sorted {
		sorted[i] = time.Duration(i)
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.99: 99, 1: 100} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("median without values = %v, want 0", got)
	}
}
