// Command shop sells tea with the Go client: it credits a customer, sells two packets for the
// balance and two by card, and refunds one of each.
//
// It stores only its client keys. Kill it at any time and start it again with the same cart:
// it repeats the steps, and each takes effect once. Try it with `make run` in a second
// terminal:
//
//	export SHOP_CUSTOMER_TOKEN=$(bin/orders-dev token --sub sber-42 --role customer)
//	export SHOP_SYSTEM_TOKEN=$(bin/orders-dev token --sub bank --role system)
//	go -C kit/client run ./examples/shop -cart 4711 -pause 2s     # kill it in the middle
//	go -C kit/client run ./examples/shop -cart 4711
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"example.com/orders/kit/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	flags := flag.NewFlagSet("shop", flag.ExitOnError)
	url := flags.String("url", "http://127.0.0.1:8080", "address of the service")
	keys := flags.String("keys", ".orders/shop", "folder of the keys")
	s := shop{out: out}
	flags.StringVar(&s.cart, "cart", "1", "number of the cart: the same number is the same purchase")
	flags.StringVar(&s.customerID, "customer", "sber-42", "subject of SHOP_CUSTOMER_TOKEN")
	flags.DurationVar(&s.pause, "pause", 0, "wait before each step, to be killed there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	store, err := client.NewFileStore(*keys)
	if err != nil {
		return err
	}
	// One store for two principals: Principal keeps their names apart.
	connect := func(principal, tokenVariable string) (*client.Client, error) {
		token := getenv(tokenVariable)
		if token == "" {
			return nil, fmt.Errorf("set %s as the comment of kit/client/examples/shop/main.go says", tokenVariable)
		}
		return client.New(client.Config{URL: *url, Token: client.StaticToken(token), Keys: store, Principal: principal})
	}
	if s.bank, err = connect("bank", "SHOP_SYSTEM_TOKEN"); err != nil {
		return err
	}
	if s.customer, err = connect(s.customerID, "SHOP_CUSTOMER_TOKEN"); err != nil {
		return err
	}
	return s.trade(ctx)
}

// shop acts for a bank, which credits, and for a customer, who buys.
type shop struct {
	bank, customer   *client.Client
	customerID, cart string
	pause            time.Duration
	out              io.Writer
}

// trade does all steps for one cart. The operation names begin with the cart number, so that a
// second run means the same operations.
func (s shop) trade(ctx context.Context) error {
	name := "cart-" + s.cart
	credit, err := s.bank.CreditBalance(ctx, name+"/credit", s.customerID, client.Credit{
		Amount: client.Money{Amount: "1000.00", Currency: "RUB"}, Reference: name,
	})
	if err != nil {
		return err
	}
	s.report(ctx, "credited 1000.00 RUB", credit.Outcome)
	if err := s.sell(ctx, name+"/by-balance", client.ByBalance()); err != nil {
		return err
	}
	return s.sell(ctx, name+"/by-card", client.ByCard("pm_card_visa"))
}

// sell orders two packets, has them paid, and refunds one.
func (s shop) sell(ctx context.Context, name string, method client.PaymentMethod) error {
	order, err := s.customer.CreateOrder(ctx, name+"/order", client.NewOrder{
		Reference: name, Items: []client.Item{{SKU: "tea", Quantity: 2}},
	})
	if err != nil {
		return err
	}
	s.report(ctx, fmt.Sprintf("order %d of %s %s", order.ID, order.Total.Amount, order.Total.Currency), order.Outcome)

	payment, err := s.customer.ConfirmPayment(ctx, name+"/pay", order.ID, method)
	if err != nil {
		return err
	}
	paid, err := s.customer.AwaitPayment(ctx, payment.ID) // a card is decided later
	if err != nil {
		return err
	}
	s.report(ctx, fmt.Sprintf("payment %d by %s: %s", paid.ID, paid.Method, paid.Status), payment.Outcome)
	if paid.Status == client.PaymentFailed {
		return errors.New("the card was declined: " + paid.Failure)
	}

	refund, err := s.customer.RefundPayment(ctx, name+"/torn", order.ID, client.RefundOf{
		Amount: order.Items[0].UnitPrice, Reason: "one packet is torn",
	})
	if err != nil {
		return err
	}
	refunded, err := s.customer.AwaitRefund(ctx, refund.ID)
	if err != nil {
		return err
	}
	s.report(ctx, fmt.Sprintf("refund %d of %s: %s", refunded.ID, refunded.Amount.Amount, refunded.Status), refund.Outcome)
	return nil
}

// report prints a step and pauses, so that a reader can kill the program.
func (s shop) report(ctx context.Context, step string, outcome client.Outcome) {
	when := "now"
	if outcome.Replayed {
		when = "before"
	}
	_, _ = fmt.Fprintf(s.out, "%-45s took effect %s\n", step, when) // best effort
	select {
	case <-time.After(s.pause):
	case <-ctx.Done():
	}
}
