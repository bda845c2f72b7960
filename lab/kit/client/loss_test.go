package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/kit/client"
	"example.com/orders/lab/kit/lossy"
	"example.com/orders/lab/kit/tsclient"
)

const (
	// customers each have a credit, an order, a payment and a refund: a thousand operations.
	customers = 250
	workers   = 32
	// attemptTimeout is how long a delayed response holds a worker.
	attemptTimeout = 400 * time.Millisecond
)

// program is a shop that calls the service through a proxy, and dies now and then.
type program struct {
	*e2e.Service
	proxy            *lossy.Proxy
	keys             client.KeyStore
	restarts, unsure atomic.Int64
}

// start starts the program, for one principal.
func (p *program) start(t *testing.T, subject, role string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		URL: p.proxy.URL, Token: client.StaticToken(p.Token(t, subject, role)), Keys: p.keys, Principal: subject,
		AttemptTimeout: attemptTimeout, BackOff: client.BackOff{Base: 5 * time.Millisecond, Max: 50 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// finish starts the program, calls an operation, and starts it again until it knows the
// outcome. One program in four dies in the middle of the call.
func finish[T any](
	t *testing.T, p *program, subject, role string, operation func(context.Context, *client.Client) (T, error),
) T {
	t.Helper()
	for {
		ctx, die := context.WithCancel(t.Context())
		if rand.N(4) == 0 {
			time.AfterFunc(rand.N(20*time.Millisecond), die)
		}
		result, err := operation(ctx, p.start(t, subject, role))
		died := ctx.Err() != nil
		die()
		switch {
		case err == nil:
			return result
		case !died && !errors.Is(err, client.OutcomeUnknown):
			t.Errorf("%s: %v", subject, err)
			return result
		case errors.Is(err, client.OutcomeUnknown):
			p.unsure.Add(1)
		}
		p.restarts.Add(1)
	}
}

// story credits a customer with 1000.00, and orders, pays and refunds a part of 30.00.
func (p *program) story(t *testing.T, customer string) {
	t.Helper()
	finish(t, p, e2e.Bank, "system", func(ctx context.Context, c *client.Client) (client.BalanceResult, error) {
		return c.CreditBalance(ctx, customer+"/credit", customer, client.Credit{Amount: roubles("1000.00")})
	})
	order := finish(t, p, customer, "customer", func(ctx context.Context, c *client.Client) (client.OrderResult, error) {
		return c.CreateOrder(ctx, "order", client.NewOrder{Items: []client.Item{{SKU: "tea", Quantity: 1}}})
	})
	payment := finish(t, p, customer, "customer", func(ctx context.Context, c *client.Client) (client.PaymentResult, error) {
		return c.ConfirmPayment(ctx, "pay", order.ID, client.ByBalance())
	})
	refund := finish(t, p, customer, "customer", func(ctx context.Context, c *client.Client) (client.RefundResult, error) {
		return c.RefundPayment(ctx, "refund", order.ID, client.RefundOf{Amount: roubles("30.00")})
	})
	if payment.OrderID != order.ID || payment.Status != client.PaymentCaptured || refund.PaymentID != payment.ID {
		t.Errorf("%s: %+v, %+v, %+v", customer, order, payment, refund)
	}
}

func roubles(amount string) client.Money { return client.Money{Amount: amount, Currency: "RUB"} }

func TestClient_HasOneEffectForEachOfAThousandOperations(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": customers})
	keys, err := client.NewFileStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Service: s, proxy: lossy.New(t, s.URL, 1), keys: keys}
	shopping := tsclient.NewShopping(t, s, p.proxy.URL, customers)
	var running errgroup.Group
	running.SetLimit(workers)
	for _, shopper := range shopping.Shoppers {
		running.Go(func() error { p.story(t, shopper.Customer); return nil })
	}
	_ = running.Wait() // a story reports its errors

	if offenders := shopping.NotOnce(t, s); len(offenders) > 0 {
		t.Errorf("%d operations did not take effect once, such as %s", len(offenders), offenders[0])
	}
	if n := s.Count(t, `SELECT count(*) FROM balance WHERE amount = 930`); n != customers {
		t.Errorf("%d of %d customers have 1000.00 - 100.00 + 30.00", n, customers)
	}
	s.WantStock(t, "tea", 0, 0)
	p.proxy.RequireFaults(t)
	t.Logf("%d restarts, %d of them with an outcome that was unknown", p.restarts.Load(), p.unsure.Load())
	if p.unsure.Load() == 0 {
		t.Error("no program died before it knew the outcome")
	}
}
