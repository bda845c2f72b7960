package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// errorPage answers as a balancer does that has lost its replicas.
func errorPage(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<html><body><h1>%d %s</h1></body></html>\n", status, http.StatusText(status))
	}
}

// resets ends the connection as a replica does that is killed.
func resets(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // the client reads an error all the same
	_ = conn.Close()
}

// breaksOff ends the connection in the middle of an answer.
func breaksOff(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"id": 10`)
	_ = http.NewResponseController(w).Flush()
	resets(w, r)
}

func TestCommand_GoesThroughAFailover(t *testing.T) {
	failures := []http.HandlerFunc{
		resets, errorPage(http.StatusServiceUnavailable), errorPage(http.StatusBadGateway), breaksOff, errorPage(http.StatusGatewayTimeout),
	}
	var keys, bodies []string
	balancer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(body))
		if len(keys) <= len(failures) {
			failures[len(keys)-1](w, r)
			return
		}
		w.Header().Set("Idempotency-Key", keys[0])
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": 1041}`)
	}))
	defer balancer.Close()
	address := balancer.Listener.Addr().String()
	if err := balancer.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	attempts := 0
	c, err := New(Config{
		URL: "http://" + address, Keys: &MemoryStore{}, BackOff: BackOff{Base: time.Millisecond, Max: time.Millisecond},
		Token: func(ctx context.Context, _ bool) (_ string, err error) {
			attempts++
			if attempts == 2 { // the first one was refused
				balancer.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
				balancer.Start()
			}
			return "token", err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := order(t.Context(), c, "cart-1")
	if err != nil || got.ID != 1041 || attempts < 2 {
		t.Errorf("result %+v after %d attempts, err = %v", got, attempts, err)
	}
	for i := range keys {
		if keys[i] != got.Key || bodies[i] != bodies[0] {
			t.Errorf("attempt %d has the key %q and the body %s", i, keys[i], bodies[i])
		}
	}
	if len(keys) != len(failures)+1 {
		t.Errorf("%d requests arrived, want %d", len(keys), len(failures)+1)
	}
}
