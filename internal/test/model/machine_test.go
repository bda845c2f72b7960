package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/memory"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const holdFor = time.Hour

// service is the service without its adapters for HTTP, on one of the stores.
type service struct {
	orders   *order.Service
	payments *payment.Service
	// pass lets the time of the customers' holds be over.
	pass func(customers []string) error
}

func newService(orders order.Store, payments payment.Store, pass func([]string) error) service {
	return service{&order.Service{Store: orders, ReservationTTL: holdFor}, &payment.Service{Store: payments}, pass}
}

func TestModelOnMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		store := memory.New(func() time.Time { return now })
		run(t, newService(store.Orders(), store.Payments(), func([]string) error {
			now = now.Add(2 * holdFor)
			return nil
		}))
	})
}

func TestModelOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	pass := func(customers []string) error {
		_, err := pool.Exec(context.Background(), `UPDATE orders SET reserved_until = now() - interval '1 second'
			WHERE reserved_until IS NOT NULL AND customer_id = ANY($1)`, customers)
		return err
	}
	rapid.Check(t, func(t *rapid.T) { run(t, newService(db.Orders(), db.Payments(), pass)) })
}

// machine is the model beside the real thing.
type machine struct {
	model
	real      service
	world     string // keeps the names of one run from those of the next
	customers []string
	skus      []string
	keys      int
	last      func() (bool, core.Code)
}

var worlds atomic.Int64

var (
	seller = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	system = core.Actor{Subject: "bank", Roles: []core.Role{core.System}}
	admin  = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
)

// run drives one random sequence of commands through both.
func run(t *rapid.T, r service) {
	m := &machine{real: r, world: strconv.FormatInt(worlds.Add(1), 10), model: model{stock: map[string]*shelf{}, balances: map[string]int{}}}
	for _, name := range []string{"ann", "bob"} {
		m.customers = append(m.customers, name+m.world)
		m.give(t, name+m.world, 300) // enough for some orders, not for all
	}
	for i, price := range []int{10, 25} {
		sku := fmt.Sprintf("sku%d-%s", i, m.world)
		m.skus = append(m.skus, sku)
		m.stock[sku] = &shelf{price: price}
		m.put(t, sku, 6)
	}
	t.Repeat(map[string]func(*rapid.T){
		"credit":  m.drawLedgerEntry("credit", m.credit, payment.EntryCredit),
		"charge":  m.drawLedgerEntry("charge", m.charge, payment.EntryCharge),
		"stock":   func(t *rapid.T) { m.put(t, m.sku(t), rapid.IntRange(0, 9).Draw(t, "on hand")) },
		"order":   m.placeOrder,
		"confirm": m.confirmOrder,
		"renew":   m.renewHold,
		"refund":  m.refundOrder,
		"cancel":  m.cancelOrder,
		"advance": m.advanceOrder,
		"time passes": func(t *rapid.T) {
			m.pass()
			if err := m.real.pass(m.customers); err != nil {
				t.Fatal(err)
			}
		},
		"holds lapse": func(t *rapid.T) {
			m.expireReservation()
			if _, err := m.real.orders.ReleaseExpiredReservations(ctx, 1000); err != nil {
				t.Fatal(err)
			}
		},
		"again": m.again,
		"":      m.compare,
	})
}

var ctx = context.Background()

func (m *machine) customer(t *rapid.T) string {
	return rapid.SampledFrom(m.customers).Draw(t, "customer")
}

func (m *machine) sku(t *rapid.T) string { return rapid.SampledFrom(m.skus).Draw(t, "sku") }

// sale picks an order that exists, or skips the command.
func (m *machine) sale(t *rapid.T) *sale {
	if len(m.orders) == 0 {
		t.Skip("no order yet")
	}
	return rapid.SampledFrom(m.orders).Draw(t, "order")
}

func (m *machine) newKey() string {
	m.keys++
	return fmt.Sprintf("%s-%d", m.world, m.keys)
}

// do runs a command and compares what came of it with what the model says. The command
// is kept, to be sent again under its key.
func (m *machine) do(t *rapid.T, what string, want core.Code, command func() (bool, error)) {
	repeated, err := command()
	if got := codeOf(t, err); got != want || repeated {
		t.Fatalf("%s: %q repeated=%v, and the model says %q", what, got, repeated, want)
	}
	m.last = nil
	if want == done {
		m.last = func() (bool, core.Code) {
			repeated, err := command()
			return repeated, codeOf(t, err)
		}
	}
}

func codeOf(t *rapid.T, err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	if err != nil {
		t.Fatalf("a failure: %v", err)
	}
	return done
}

// again sends the last command that succeeded under its key: nothing happens.
func (m *machine) again(t *rapid.T) {
	if m.last == nil {
		t.Skip("nothing to repeat")
	}
	if repeated, code := m.last(); !repeated || code != done {
		t.Fatalf("the second line let a command pass: repeated=%v %q", repeated, code)
	}
}

func roubles(n int) core.Money {
	m, err := core.ParseMoney(strconv.Itoa(n), "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

func (m *machine) put(t *rapid.T, sku string, onHand int) {
	want := m.putStock(sku, onHand)
	_, _, err := m.real.orders.PutProduct(ctx, seller, order.PutProduct{
		SKU: sku, Name: sku, Price: roubles(m.stock[sku].price), OnHand: int64(onHand),
	})
	if got := codeOf(t, err); got != want {
		t.Fatalf("put %d of %s: %q, and the model says %q", onHand, sku, got, want)
	}
}

func (m *machine) give(t *rapid.T, customer string, amount int) {
	cmd := payment.ChangeBalance{CustomerID: customer, Amount: roubles(amount), Key: m.newKey()}
	m.do(t, "credit", m.credit(customer, amount), func() (bool, error) {
		_, repeated, err := m.real.payments.CreditBalance(ctx, system, cmd)
		return repeated, err
	})
}

func (m *machine) drawLedgerEntry(what string, expect func(string, int) core.Code, kind payment.EntryKind) func(*rapid.T) {
	return func(t *rapid.T) {
		cmd := payment.ChangeBalance{CustomerID: m.customer(t), Key: m.newKey()}
		amount := rapid.IntRange(1, 100).Draw(t, "amount")
		cmd.Amount = roubles(amount)
		move := m.real.payments.CreditBalance
		if kind == payment.EntryCharge {
			move = m.real.payments.ChargeBalance
		}
		m.do(t, what, expect(cmd.CustomerID, amount), func() (bool, error) {
			_, repeated, err := move(ctx, system, cmd)
			return repeated, err
		})
	}
}

func (m *machine) placeOrder(t *rapid.T) {
	s := &sale{customer: m.customer(t)}
	for _, sku := range m.skus {
		if n := rapid.IntRange(0, 4).Draw(t, sku); n > 0 {
			s.items = append(s.items, order.Item{SKU: sku, Quantity: n})
		}
	}
	if len(s.items) == 0 {
		t.Skip("nothing in the basket")
	}
	cmd := order.CreateOrder{Items: s.items, Key: m.newKey()}
	m.do(t, "order", m.order(s), func() (bool, error) {
		o, repeated, err := m.real.orders.CreateOrder(ctx, buyer(s), cmd)
		if err == nil {
			s.id = o.ID
		}
		return repeated, err
	})
}

func buyer(s *sale) core.Actor {
	return core.Actor{Subject: s.customer, Roles: []core.Role{core.Customer}}
}

func (m *machine) confirmOrder(t *rapid.T) {
	s := m.sale(t)
	cmd := payment.ConfirmPayment{OrderID: s.id, Method: payment.FromBalance, Key: m.newKey()}
	m.do(t, "confirm", m.confirm(s), func() (bool, error) {
		_, repeated, err := m.real.payments.ConfirmPayment(ctx, buyer(s), cmd)
		return repeated, err
	})
}

func (m *machine) renewHold(t *rapid.T) {
	s := m.sale(t)
	cmd := order.ReserveInventory{OrderID: s.id, Key: m.newKey()}
	m.do(t, "renew", m.renew(s), func() (bool, error) {
		_, repeated, err := m.real.orders.ReserveInventory(ctx, buyer(s), cmd)
		return repeated, err
	})
}

func (m *machine) refundOrder(t *rapid.T) {
	s := m.sale(t)
	cmd := payment.RefundPayment{OrderID: s.id, Key: m.newKey()}
	amount := s.captured - s.refunded
	if rapid.Bool().Draw(t, "a part") {
		amount = rapid.IntRange(1, 100).Draw(t, "amount")
		money := roubles(amount)
		cmd.Amount = &money
	}
	actor := buyer(s)
	if rapid.Bool().Draw(t, "by an administrator") {
		actor = admin
	}
	m.do(t, "refund", m.refund(s, amount, actor.Has(core.Admin)), func() (bool, error) {
		_, repeated, err := m.real.payments.RefundPayment(ctx, actor, cmd)
		return repeated, err
	})
}

func (m *machine) cancelOrder(t *rapid.T) {
	s := m.sale(t)
	cmd := payment.CancelOrder{OrderID: s.id, Key: m.newKey()}
	m.do(t, "cancel", m.cancel(s), func() (bool, error) {
		_, repeated, err := m.real.payments.CancelOrder(ctx, seller, cmd)
		return repeated, err
	})
}

func (m *machine) advanceOrder(t *rapid.T) {
	s := m.sale(t)
	next := rapid.SampledFrom([]order.Status{order.Fulfilling, order.Shipped, order.Delivered}).Draw(t, "next")
	want := m.advance(s, next)
	_, err := m.real.orders.UpdateOrderStatus(ctx, seller, order.UpdateOrderStatus{OrderID: s.id, Status: next})
	if got := codeOf(t, err); got != want {
		t.Fatalf("advance to %s: %q, and the model says %q", next, got, want)
	}
}
