package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"example.com/orders/client"
	"example.com/orders/internal/test/e2e"
)

// startClient returns a client of one principal, with a transport and a key store of the
// test's own; nil stands for the default transport.
func startClient(
	t *testing.T, s *e2e.Service, subject, role string, transport http.RoundTripper, keys client.KeyStore,
) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		URL: s.URL, Token: client.StaticToken(s.Token(t, subject, role)), Transport: transport, Keys: keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dying sends a request and dies when the service has answered.
type dying struct{ die func() }

func (d dying) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	d.die()
	return nil, context.Canceled
}

var twoTeas = client.NewOrder{Items: []client.Item{{SKU: "tea", Quantity: 2}}}

func TestName_GetsTheFirstResultAfterARestart(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	dir := t.TempDir()
	start := func(transport http.RoundTripper) *client.Client {
		keys, err := client.NewFileStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		return startClient(t, s, e2e.Alice, "customer", transport, keys)
	}
	ctx, die := context.WithCancel(t.Context())
	if _, err := start(dying{die}).CreateOrder(ctx, "cart-1", twoTeas); !errors.Is(err, client.OutcomeUnknown) {
		t.Fatalf("err = %v, want an unknown outcome", err)
	}
	order, err := start(nil).CreateOrder(t.Context(), "cart-1", twoTeas)
	if err != nil || !order.Replayed {
		t.Errorf("order %+v, err = %v; want the first one, replayed", order, err)
	}
	if n := s.Count(t, `SELECT count(*) FROM orders`); n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestName_GetsTheFirstResultAfterTheRecordHasExpired(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	c := startClient(t, s, e2e.Alice, "customer", nil, &client.MemoryStore{})
	first, err := c.CreateOrder(t.Context(), "cart-1", twoTeas)
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, `UPDATE idempotency_record SET expires_at = now() - interval '1 second'`)
	second, err := c.CreateOrder(t.Context(), "cart-1", twoTeas)
	if err != nil || second.ID != first.ID || !second.Replayed {
		t.Errorf("orders %+v and %+v, err = %v", first, second, err)
	}
}

func TestName_IsANewOperationAfterARefusal(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	c := startClient(t, s, e2e.Alice, "customer", nil, &client.MemoryStore{})
	order, err := c.CreateOrder(t.Context(), "cart-1", twoTeas)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ConfirmPayment(t.Context(), "cart-1/pay", order.ID, client.ByBalance()); !errors.Is(err, client.InsufficientFunds) {
		t.Errorf("err = %v, want insufficient funds", err)
	}
	s.Credit(t, e2e.Alice, "500.00")
	for _, replayed := range []bool{false, true} {
		payment, err := c.ConfirmPayment(t.Context(), "cart-1/pay", order.ID, client.ByBalance())
		if err != nil || payment.Status != client.PaymentCaptured || payment.Replayed != replayed {
			t.Errorf("payment %+v, err = %v", payment, err)
		}
	}
	s.WantBalance(t, e2e.Alice, "300.00")
}

func TestName_IsRefusedForAnotherRequest(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	bank := startClient(t, s, e2e.Bank, "system", nil, &client.MemoryStore{})
	for _, tc := range []struct {
		amount string
		want   error
	}{
		{"10.00", nil}, {"20.00", client.IdempotencyKeyReused}, {"20.00", client.IdempotencyKeyReused}, {"10.00", nil},
	} {
		_, err := bank.CreditBalance(t.Context(), "credit-1", e2e.Alice, client.Credit{Amount: roubles(tc.amount)})
		if !errors.Is(err, tc.want) {
			t.Errorf("credit of %s: err = %v, want %v", tc.amount, err, tc.want)
		}
	}
	s.WantBalance(t, e2e.Alice, "10.00")
}
