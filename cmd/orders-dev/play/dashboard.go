package play

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"

	"example.com/orders/internal/core"
	"example.com/orders/internal/dev/fakestripe"
)

// cardProvider is the fake Stripe of the playground. It sends webhooks to a replica.
type cardProvider struct {
	*fakestripe.Server
	environ []string // of the replicas
	stop    func() error
}

// openCardProvider starts the fake with its tables in the playground database.
func openCardProvider(ctx context.Context, databaseURL string) (*cardProvider, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	key, secret := "sk_test_"+rand.Text(), rand.Text()
	server, err := fakestripe.Open(ctx, fakestripe.Config{DatabaseURL: databaseURL, Key: key, WebhookSecret: secret})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(serving, ln) }()
	return &cardProvider{Server: server, environ: []string{
		"ORDERS_STRIPE_KEY=" + key, "ORDERS_STRIPE_WEBHOOK_SECRET=" + secret, "ORDERS_STRIPE_URL=http://" + ln.Addr().String(),
	}, stop: func() error {
		cancel()
		err := <-ended
		server.Close()
		return err
	}}, nil
}

// cardOrder is an order of the playground, and its payment by card.
type cardOrder struct {
	ID     int64
	Status string

	payment cardPayment
}

type cardPayment struct {
	ID       int64
	Status   string
	Refunded struct{ Amount string }
	Refunds  []struct {
		MadeBy string `json:"made_by"`
	}
}

// refundInDashboard lets the shop refund a card payment in Stripe's dashboard. No request
// of this service asks for it.
func (p *play) refundInDashboard(ctx context.Context) error {
	o, err := p.buyByCard(ctx)
	if err != nil {
		return err
	}
	p.note("Order %d is paid by card: Stripe has captured %s RUB.", o.ID, price)
	charge, amount, err := p.cards.LatestCharge(ctx)
	if err != nil {
		return err
	}
	p.cards.SendTo(p.replicas[1].url() + "/webhooks/stripe")
	if _, err := p.cards.RefundInDashboard(ctx, charge, amount, "succeeded"); err != nil {
		return err
	}
	p.fault("The shop refunds it in Stripe's dashboard: no request reaches this service. Stripe sends webhooks to replica B.")
	if err := p.awaitOrder(ctx, o, "cancelled"); err != nil {
		return err
	}
	text, right := o.verdict()
	p.report(Entry{Kind: "verdict", Payment: p.op.number, Right: right, Text: text})
	return nil
}

// verdict compares the payment with the refund in the dashboard.
func (o *cardOrder) verdict() (text string, right bool) {
	refunded, refunds := o.payment.Refunded.Amount, o.payment.Refunds
	if refunded != price || len(refunds) != 1 || refunds[0].MadeBy != "provider" {
		return fmt.Sprintf("Order %d is %s, but its payment shows %s RUB refunded, by %v.", o.ID, o.Status, refunded, refunds), false
	}
	return fmt.Sprintf("Order %d is %s, and its payment shows one refund, made by the provider: %s RUB.", o.ID, o.Status, refunded), true
}

// order creates a product, and an order of it.
func (p *play) order(ctx context.Context) (*cardOrder, error) {
	url := p.replicas[1].url()
	var ignored any
	product := fmt.Sprintf(`{"name": "Tea", "price": {"amount": %q, "currency": "RUB"}, "on_hand": 1}`, price)
	sku := "tea-" + rand.Text()
	if err := p.client.must(ctx, &ignored, http.MethodPut, url+"/products/"+sku, p.sellerToken, "", product); err != nil {
		return nil, err
	}
	o := &cardOrder{}
	items := fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}]}`, sku)
	return o, p.client.must(ctx, o, http.MethodPost, url+"/orders", p.buyerToken, "order-"+rand.Text(), items)
}

// buyByCard creates an order and pays it by card.
func (p *play) buyByCard(ctx context.Context) (*cardOrder, error) {
	o, err := p.order(ctx)
	if err != nil {
		return nil, err
	}
	confirm := fmt.Sprintf("%s/orders/%d/payment/confirm", p.replicas[1].url(), o.ID)
	body := `{"method": "card", "payment_method": "pm_card_visa"}`
	if err := p.client.must(ctx, &o.payment, http.MethodPost, confirm, p.buyerToken, "confirm-"+rand.Text(), body); err != nil {
		return nil, err
	}
	return o, p.awaitOrder(ctx, o, "paid")
}

// awaitOrder waits until an order has a status, and reads its payment.
func (p *play) awaitOrder(ctx context.Context, o *cardOrder, status string) error {
	order := fmt.Sprintf("%s/orders/%d", p.replicas[1].url(), o.ID)
	return poll(ctx, fmt.Sprintf("order %d is %s", o.ID, status), func() (bool, error) {
		if err := p.client.must(ctx, o, http.MethodGet, order, p.buyerToken, "", ""); err != nil || o.Status != status {
			return false, err
		}
		var found struct{ Data []cardPayment }
		if err := p.client.must(ctx, &found, http.MethodGet, order+"/payments", p.buyerToken, "", ""); err != nil {
			return false, err
		}
		o.payment = found.Data[0]
		return true, nil
	})
}

// makeTokens makes the tokens of everybody on the stage.
func (s *stage) makeTokens(token func(subject, role string) (string, error)) (err error) {
	if s.token, err = token(billing, string(core.System)); err != nil {
		return err
	}
	if s.buyerToken, err = token(guardedCustomer, string(core.Customer)); err != nil {
		return err
	}
	s.sellerToken, err = token("shop", string(core.Seller))
	return err
}
