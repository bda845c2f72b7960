package faults

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	orders "example.com/orders/kit/client"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/kit/lossy"
	"example.com/orders/lab/kit/tsclient"
)

// programFaults are programs that use the clients of this repository.
var programFaults = []Fault{{
	Name: "both-clients", Number: "F21",
	Strike: shopWithBothClients,
	Proof:  []string{"purchases of both clients", "kills during purchases"},
}}

// shoppers is the number of customers of each client. Each gets a credit, orders, pays and
// returns a part.
const shoppers = 25

// shopWithBothClients kills the replica that both clients use through a lossy proxy. Each of
// their operations must succeed and take effect once.
func shopWithBothClients(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	r := l.Draw(random)
	shopping := tsclient.NewShopping(t, l.ServiceAt(r), lossy.New(t, r.URL, random.Uint64()).URL, 2*shoppers)
	shopping.SKU = l.UniqueName("shopped") // the clients of a run may sell theirs out
	l.ServiceAt(r).PutProduct(t, shopping.SKU, 2*shoppers)
	inGo, inTypeScript := shopping, shopping
	inGo.Shoppers, inTypeScript.Shoppers = shopping.Shoppers[:shoppers], shopping.Shoppers[shoppers:]
	ended := make(chan error, 2)
	go func() { ended <- shopInGo(t, inGo) }()
	go func() { ended <- shopInTypeScript(t, inTypeScript) }()
	for kills := range 3 {
		e2e.Eventually(t, "the shoppers have ordered more", func() bool {
			return l.Count(t, `SELECT count(*) FROM orders WHERE customer_id LIKE 'shopper-%'`) > kills*shoppers/2
		})
		r.Process.Kill()
		r.Start(t)
		l.Counters.Add("kills during purchases", 1)
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if offenders := shopping.NotOnce(t, l.ServiceAt(r)); len(offenders) > 0 {
		t.Errorf("%d operations did not take effect once: %s …", len(offenders), offenders[0])
	}
	l.Counters.Add("purchases of both clients", len(shopping.Shoppers))
}

// shopInGo does with the Go client as the shoppers of the TypeScript client do.
func shopInGo(t testing.TB, shopping tsclient.Shopping) error {
	t.Helper()
	keys := &orders.MemoryStore{}
	connect := func(principal, token string) (*orders.Client, error) {
		return orders.New(orders.Config{
			URL: shopping.URL, Token: orders.StaticToken(token), Keys: keys, Principal: principal,
			AttemptTimeout: time.Second, Timeout: 5 * time.Minute, BackOff: orders.BackOff{Base: 5 * time.Millisecond},
		})
	}
	bank, err := connect("bank", shopping.Bank)
	if err != nil {
		return err
	}
	for _, shopper := range shopping.Shoppers {
		customer, err := connect(shopper.Customer, shopper.Token)
		if err != nil {
			return err
		}
		money := func(amount string) orders.Money { return orders.Money{Amount: amount, Currency: "RUB"} }
		_, credited := bank.CreditBalance(t.Context(), shopper.Customer+"/credit", shopper.Customer, orders.Credit{Amount: money("250.00")})
		order, ordered := customer.CreateOrder(t.Context(), "order", orders.NewOrder{Items: []orders.Item{{SKU: shopping.SKU, Quantity: 1}}})
		_, paid := customer.ConfirmPayment(t.Context(), "pay", order.ID, orders.ByBalance())
		_, refunded := customer.RefundPayment(t.Context(), "refund", order.ID, orders.RefundOf{Amount: money("4.00")})
		if err := cmp.Or(credited, ordered, paid, refunded); err != nil {
			return fmt.Errorf("%s: %w", shopper.Customer, err)
		}
	}
	return nil
}

// shopInTypeScript runs a program of the TypeScript client's tests.
func shopInTypeScript(t testing.TB, shopping tsclient.Shopping) error {
	t.Helper()
	input, err := json.Marshal(shopping)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "node", "../../../kit/client-ts/build/test/programs/shop.js", t.TempDir())
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
