//go:build node

package tsclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/kit/lossy"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// program returns a program that is built with the client.
func program(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{Built + "/build/" + path + ".js"}, args...)...)
	cmd.Stderr = t.Output()
	return cmd
}

// run runs a program and decodes what it writes.
func run[T any](t *testing.T, cmd *exec.Cmd, input any) T {
	t.Helper()
	encoded, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(encoded)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args[1:], err)
	}
	var result T
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatalf("%v: %v in %s", cmd.Args[1:], err, output)
	}
	return result
}

func TestClient_ThousandOperationsTakeEffectOnceWhateverIsLost(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
	proxy := lossy.New(t, s.URL, 1)
	shopping := NewShopping(t, s, proxy.URL, 1000/Operations)

	receipt := run[Receipt](t, program(t, "test/programs/shop", t.TempDir()), shopping)

	proxy.RequireFaults(t)
	shopping.WantEachOnce(t, s, receipt)
}

func TestNaiveClient_TakesEffectMoreThanOnce(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
	proxy := lossy.New(t, s.URL, 1)
	shopping := NewShopping(t, s, proxy.URL, 100/Operations)

	receipt := run[Receipt](t, program(t, "test/programs/shop"), shopping)

	proxy.RequireFaults(t)
	if receipt.Operations != Operations*len(shopping.Shoppers) {
		t.Errorf("%d operations succeeded", receipt.Operations)
	}
	if offenders := shopping.NotOnce(t, s); len(offenders) == 0 {
		t.Error("each operation took effect once, although its key was lost")
	} else {
		t.Logf("%d of %d operations did not take effect once, such as %s", len(offenders), receipt.Operations, offenders[0])
	}
}

// withholding is a proxy that never sends the first response, and reports it.
func withholding(t *testing.T, s *e2e.Service) (url string, withheld <-chan e2e.Reply) {
	t.Helper()
	replies := make(chan e2e.Reply, 1)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		reply, err := s.Try(context.WithoutCancel(r.Context()), t, e2e.Call{Method: r.Method, Path: r.URL.Path, Body: string(body), Header: r.Header})
		if err != nil {
			t.Error(err)
		}
		if requests.Add(1) == 1 {
			replies <- reply
			<-r.Context().Done() // the client is killed
			return
		}
		maps.Copy(w.Header(), reply.Header)
		w.WriteHeader(reply.Status)
		_, _ = w.Write(reply.Body) // the client may be gone
	}))
	t.Cleanup(server.Close)
	return server.URL, replies
}

func TestClient_KilledAfterSendingGetsTheFirstResultWhenItStartsAgain(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	url, withheld := withholding(t, s)
	args := []string{url, s.CustomerToken(t), t.TempDir(), "basket-1"}
	killed := program(t, "test/programs/order", args...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	first := e2e.Receive(t, withheld, "the service answers the first process")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // the error is that it was killed

	type result struct {
		ID       int
		Key      string
		Replayed bool
	}
	second := run[result](t, program(t, "test/programs/order", args...), nil)

	var order e2e.Order
	if err := json.Unmarshal(first.Body, &order); err != nil {
		t.Fatal(err)
	}
	if want := (result{order.ID, first.Header.Get("Idempotency-Key"), true}); second != want {
		t.Errorf("the second process got %+v, want %+v", second, want)
	}
	if n := s.Count(t, `SELECT count(*) FROM orders`); n != 1 {
		t.Errorf("there are %d orders, want 1", n)
	}
}
