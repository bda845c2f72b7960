package endpoints_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
	testwait "example.com/orders/internal/test/wait"
)

// types returns "subject type" of events.
func types(events []e2e.Received) (found []string) {
	for _, e := range events {
		found = append(found, e.Subject+" "+e.Type)
	}
	return found
}

func TestOrder_ArrivesAtItsSellersEndpointSigned(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 5}, e2e.PrivateWebhooks)
	s.Run(t)
	mine, rivals, all := e2e.StartReceiver(t), e2e.StartReceiver(t), e2e.StartReceiver(t)
	mine.Register(t, s, s.SellerToken(t), true)
	rivals.Register(t, s, s.Token(t, e2e.Rival, "seller"), false)
	all.Register(t, s, s.AdminToken(t), true)

	s.Credit(t, e2e.Alice, "500.00")
	order := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)

	subject := fmt.Sprintf("order/%d", order.ID)
	e2e.Eventually(t, "the events have arrived", func() bool {
		return slices.Contains(types(mine.Events()), subject+" order.paid") && slices.Contains(types(all.Events()), subject+" order.paid")
	})
	got := slices.DeleteFunc(types(mine.Events()), func(e string) bool { return !strings.HasPrefix(e, subject) })
	if diff := cmp.Diff([]string{subject + " order.created", subject + " order.paid"}, got); diff != "" {
		t.Errorf("events of the order (-want +got):\n%s", diff)
	}
	isBalance := func(e e2e.Received) bool { return strings.HasPrefix(e.Type, "balance.") }
	if slices.ContainsFunc(mine.Events(), isBalance) || !slices.ContainsFunc(all.Events(), isBalance) {
		t.Errorf("balances are for administrators: the seller got %v, the administrator %v", types(mine.Events()), types(all.Events()))
	}
	if got := rivals.Events(); len(got) > 0 {
		t.Errorf("another seller got %v", types(got))
	}
}

// Each process is killed when it sends, and once after the receiver has accepted an event.
func TestEvents_AllArriveThoughProcessesAreKilled(t *testing.T) {
	t.Parallel()
	const orders = 12
	s := e2e.StartShop(t, e2e.Stock{"tea": orders}, e2e.PrivateWebhooks)
	receiver := e2e.StartReceiver(t)
	receiver.Register(t, s, s.SellerToken(t), true)
	for range orders {
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	}
	for n := range 3 {
		var process atomic.Pointer[e2e.Process]
		killed, isKilled := e2e.NewSignal()
		receiver.SetHook(func(e2e.Received, http.ResponseWriter) bool {
			p := process.Swap(nil)
			if p == nil {
				return true
			}
			p.Kill()
			isKilled()
			return n == 2
		})
		p := s.StartWaiting(t, e2e.BuildOrders(t), e2e.PrivateWebhooks)
		process.Store(p)
		e2e.Receive(t, killed, "the process is killed")
		s.Exec(t, `UPDATE webhook_delivery SET next_attempt_at = now() WHERE status = 'pending'`)
	}
	receiver.SetHook(nil)

	s.Run(t)

	e2e.Eventually(t, "everything is delivered", func() bool {
		return s.Count(t, `SELECT count(*) FROM webhook_delivery WHERE status <> 'delivered'`) == 0 &&
			s.Count(t, `SELECT count(*) FROM outbox WHERE dispatched_at IS NULL`) == 0
	})
	for _, e := range receiver.Events() {
		if n := s.Count(t, `SELECT count(*) FROM webhook_delivery WHERE event_id::text = $1`, e.ID); n != 1 {
			t.Errorf("event %s has %d deliveries, want 1", e.ID, n)
		}
	}
	if got := len(receiver.Events()); got != s.Count(t, `SELECT count(*) FROM webhook_delivery`) || got < orders {
		t.Errorf("%d events have arrived, want all, and at least %d", got, orders)
	}
}

func TestStop_LetsAnAttemptEnd(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1}, e2e.PrivateWebhooks)
	receiver := e2e.StartReceiver(t)
	receiver.Register(t, s, s.SellerToken(t), false)
	begun, isBegun := e2e.NewSignal()
	stopping, isStopping := e2e.NewSignal()
	receiver.SetHook(func(e2e.Received, http.ResponseWriter) bool {
		isBegun()
		<-stopping
		return true
	})
	p := s.StartProcess(t, e2e.BuildOrders(t), e2e.PrivateWebhooks)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	e2e.Receive(t, begun, "the attempt has begun")

	ended := p.Terminate(t)
	e2e.Eventually(t, "the process has closed its port", func() bool { return !p.IsOK("/health/live") })
	isStopping()

	p.WantEnd(t, ended, testwait.Patience)
	if n := s.Count(t, "SELECT count(*) FROM webhook_delivery WHERE status = 'delivered' AND attempts = 1"); n != 1 {
		t.Errorf("%d deliveries were recorded, want 1", n)
	}
}
