package process_test

import (
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// sendBlocked sends n credits of a customer whose balance is locked, and returns when
// all of them wait in the database.
func sendBlocked(t *testing.T, l *e2e.Load, customer string, n int) <-chan e2e.Reply {
	t.Helper()
	replies := make(chan e2e.Reply, n)
	for range n {
		call := l.CreditCall(t, customer, "1.00")
		go func() {
			r, err := l.Send(t, call)
			if err != nil {
				t.Errorf("an accepted request got no response: %v", err)
			}
			replies <- r
		}()
	}
	l.AwaitBlocked(t, n)
	return replies
}

func TestService_AnswersAcceptedRequestsWhenStopped(t *testing.T) {
	t.Parallel()
	const blocked = 2 // of four connections
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t))
	s := env.ServiceOf(p)
	s.Credit(t, e2e.Alice, "1.00")
	l := e2e.NewLoad(env)
	l.SendTo(p)
	balance := lockBalance(t, env, e2e.Alice)
	replies := sendBlocked(t, l, e2e.Alice, blocked)
	stop := l.Start(t, 4)
	l.AwaitAnswers(t, 20)

	ended := p.Terminate(t)

	e2e.Eventually(t, "the service is not ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusServiceUnavailable
	})
	l.AwaitAnswers(t, 10) // until load balancers notice, it still serves
	stop()
	awaitNotListening(t, p)
	select {
	case err := <-ended:
		t.Fatalf("the process ended before its requests: %v", err)
	default:
	}
	balance.Release()
	for range blocked {
		if r := <-replies; r.Status != http.StatusCreated {
			t.Errorf("an accepted request was answered %d: %s", r.Status, r.Body)
		}
	}
	p.WantEnd(t, ended, e2e.Patience)
	if line := lineAbout(t, p, "drained"); line["requests"].(float64) < blocked || line["requests_cut_off"] != 0.0 {
		t.Errorf("the line is %v, want %d requests and none cut off", line, blocked)
	}
	if l.Broken.Load()+l.Unsent.Load() > 0 {
		t.Errorf("%d requests got no response, %d were not accepted", l.Broken.Load(), l.Unsent.Load())
	}
	if n := env.Count(t, `SELECT count(*) FROM ledger_entry WHERE customer_id = $1`, e2e.Alice); n != 1+blocked {
		t.Errorf("%d ledger entries, want %d", n, 1+blocked)
	}
}

// awaitNotListening waits until a process accepts no connections any more.
func awaitNotListening(t *testing.T, p *e2e.Process) {
	t.Helper()
	e2e.Eventually(t, "no connection is accepted", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// A terminal that closes also lets requests end.
func TestService_StopsAlthoughRequestIsBlocked(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup, and so would the process")
	}
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t))
	env.ServiceOf(p).Credit(t, e2e.Alice, "1.00")
	l := e2e.NewLoad(env)
	l.SendTo(p)
	lockBalance(t, env, e2e.Alice)
	replies := sendBlocked(t, l, e2e.Alice, 1)
	p.Signal(t, syscall.SIGHUP)
	if r := <-replies; r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("the blocked request was answered %d %v: %s", r.Status, r.Header, r.Body)
	}
	p.WantEnd(t, p.Ended(), e2e.Patience)
}
