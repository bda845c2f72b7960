package main

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// errNoMore ends a load.
var errNoMore = errors.New("no more requests")

// newFailingLoad returns a load of ten requests, to a server that refuses them all.
func newFailingLoad(t *testing.T) load {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	var sent atomic.Int64
	return load{
		addr: server.Listener.Addr().String(), connections: 1,
		next: func(*rand.Rand) (request, error) {
			if sent.Add(1) > 10 {
				return request{}, errNoMore
			}
			return request{path: "/"}, nil
		},
		check: command{status: http.StatusOK}.check,
	}
}

func TestLoad_EndsAtUnexpectedResponse(t *testing.T) {
	t.Parallel()
	l := newFailingLoad(t)
	_, err := l.run(t.Context(), timing{0, time.Hour}, func() error { return nil })
	if !errors.Is(err, errUnexpected) {
		t.Errorf("got error %v, want %v", err, errUnexpected)
	}
}

func TestLoad_CountsFailedRequestsApart(t *testing.T) {
	t.Parallel()
	l := newFailingLoad(t)
	l.failed = new(atomic.Int64)
	var latencies histogram

	err := l.loop(t.Context(), time.Now(), time.Now().Add(time.Hour), &latencies)

	if !errors.Is(err, errNoMore) {
		t.Errorf("got error %v, want %v", err, errNoMore)
	}
	if failed := l.failed.Load(); failed != 10 || latencies.total != 0 {
		t.Errorf("%d failed and %d measured, want 10 and none", failed, latencies.total)
	}
}
