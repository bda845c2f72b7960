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

const reservationTTL = time.Hour

// service holds the use cases on one of the stores.
type service struct {
	orders   *order.Service
	payments *payment.Service
	// expire makes the reservations of the customers expire.
	expire func(customers []string) error
}

func newService(orders order.Store, payments payment.Store, expire func([]string) error) service {
	bounded := &order.Service{
		Store: orders, ReservationTTL: reservationTTL, MaxExtensions: maxExtensions, MaxUnpaidOrders: maxUnpaidOrders,
	}
	return service{bounded, &payment.Service{Store: payments}, expire}
}

func TestModelOnMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		store := memory.New(func() time.Time { return now })
		run(t, newService(store.Orders(), store.Payments(), func([]string) error {
			now = now.Add(2 * reservationTTL)
			return nil
		}))
	})
}

func TestModelOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	expire := func(customers []string) error {
		_, err := pool.Exec(context.Background(), `UPDATE orders SET reserved_until = now() - interval '1 second'
			WHERE reserved_until IS NOT NULL AND customer_id = ANY($1)`, customers)
		return err
	}
	rapid.Check(t, func(t *rapid.T) { run(t, newService(db.Orders(), db.Payments(), expire)) })
}

// machine drives the model and the real service with the same commands.
type machine struct {
	model
	real      service
	run       string // makes the names of one run differ from those of the others
	customers []string
	skus      []string
	keys      int
	last      func() (bool, core.Code)
}

var runs atomic.Int64

var (
	seller = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	system = core.Actor{Subject: "bank", Roles: []core.Role{core.System}}
	admin  = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
)

// run runs one random sequence of commands.
func run(t *rapid.T, r service) {
	m := &machine{real: r, run: strconv.FormatInt(runs.Add(1), 10), model: model{stock: map[string]*product{}, balances: map[string]int{}}}
	for _, name := range []string{"ann", "bob"} {
		m.customers = append(m.customers, name+m.run)
		m.creditCustomer(t, name+m.run, 300) // enough for some orders, but not for all
	}
	for i, price := range []int{10, 25} {
		sku := fmt.Sprintf("sku%d-%s", i, m.run)
		m.skus = append(m.skus, sku)
		m.stock[sku] = &product{price: price}
		m.put(t, sku, 6)
	}
	t.Repeat(map[string]func(*rapid.T){
		"credit":  m.changeBalance("credit", m.credit, payment.EntryCredit),
		"charge":  m.changeBalance("charge", m.charge, payment.EntryCharge),
		"stock":   func(t *rapid.T) { m.put(t, m.sku(t), rapid.IntRange(0, 9).Draw(t, "on hand")) },
		"adjust":  m.adjustStock,
		"order":   m.placeOrder,
		"confirm": m.confirmOrder,
		"extend":  m.extendReservation,
		"refund":  m.refundOrder,
		"cancel":  m.cancelOrder,
		"advance": m.advanceOrder,
		"reservations expire": func(t *rapid.T) {
			m.expireReservations()
			if err := m.real.expire(m.customers); err != nil {
				t.Fatal(err)
			}
		},
		"expired reservations are released": func(t *rapid.T) {
			m.releaseExpired()
			if _, _, err := m.real.orders.ReleaseExpiredReservations(ctx, order.Expiry{}, 1000); err != nil {
				t.Fatal(err)
			}
		},
		"repeat": m.repeat,
		"":       m.compare,
	})
}

var ctx = context.Background()

func (m *machine) customer(t *rapid.T) string {
	return rapid.SampledFrom(m.customers).Draw(t, "customer")
}

func (m *machine) sku(t *rapid.T) string { return rapid.SampledFrom(m.skus).Draw(t, "sku") }

// someOrder draws an existing order, or skips the command.
func (m *machine) someOrder(t *rapid.T) *orderState {
	if len(m.orders) == 0 {
		t.Skip("no order yet")
	}
	return rapid.SampledFrom(m.orders).Draw(t, "order")
}

func (m *machine) newKey() string {
	m.keys++
	return fmt.Sprintf("%s-%d", m.run, m.keys)
}

// do runs a command and compares its result with the expected one. The command
// is remembered, so that it can be repeated with its key.
func (m *machine) do(t *rapid.T, what string, want core.Code, command func() (bool, error)) {
	repeated, err := command()
	if got := codeOf(t, err); got != want || repeated {
		t.Fatalf("%s: %q repeated=%v, the model says %q", what, got, repeated, want)
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

// repeat sends the last command that succeeded with its key: it must change nothing.
func (m *machine) repeat(t *rapid.T) {
	if m.last == nil {
		t.Skip("nothing to repeat")
	}
	if repeated, code := m.last(); !repeated || code != done {
		t.Fatalf("the second line of defence failed: repeated=%v %q", repeated, code)
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
	cmd := order.PutProduct{SKU: sku, Name: sku, Price: roubles(m.stock[sku].price), OnHand: new(int64(onHand))}
	if known, err := m.real.orders.GetProduct(ctx, sku); err == nil {
		cmd.Versions = []int64{known.Version}
	}
	_, _, err := m.real.orders.PutProduct(ctx, seller, cmd)
	if got := codeOf(t, err); got != want {
		t.Fatalf("put %d of %s: %q, the model says %q", onHand, sku, got, want)
	}
}

func (m *machine) adjustStock(t *rapid.T) {
	sku, change := m.sku(t), rapid.IntRange(-6, 6).Draw(t, "change")
	cmd := order.AdjustStock{SKU: sku, Change: int64(change), Key: m.newKey()}
	m.do(t, "adjust", m.adjust(sku, change), func() (bool, error) {
		_, repeated, err := m.real.orders.AdjustStock(ctx, seller, cmd)
		return repeated, err
	})
}

func (m *machine) creditCustomer(t *rapid.T, customer string, amount int) {
	cmd := payment.ChangeBalance{CustomerID: customer, Amount: roubles(amount), Key: m.newKey()}
	m.do(t, "credit", m.credit(customer, amount), func() (bool, error) {
		_, repeated, err := m.real.payments.CreditBalance(ctx, system, cmd)
		return repeated, err
	})
}

func (m *machine) changeBalance(what string, expect func(string, int) core.Code, kind payment.EntryKind) func(*rapid.T) {
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
	s := &orderState{customer: m.customer(t)}
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

func buyer(s *orderState) core.Actor {
	return core.Actor{Subject: s.customer, Roles: []core.Role{core.Customer}}
}

func (m *machine) confirmOrder(t *rapid.T) {
	s := m.someOrder(t)
	cmd := payment.ConfirmPayment{OrderID: s.id, Method: payment.FromBalance, Key: m.newKey()}
	m.do(t, "confirm", m.confirm(s), func() (bool, error) {
		_, repeated, err := m.real.payments.ConfirmPayment(ctx, buyer(s), cmd)
		return repeated, err
	})
}

func (m *machine) extendReservation(t *rapid.T) {
	s := m.someOrder(t)
	cmd := order.ReserveInventory{OrderID: s.id, Key: m.newKey()}
	m.do(t, "extend", m.extend(s), func() (bool, error) {
		_, repeated, err := m.real.orders.ReserveInventory(ctx, buyer(s), cmd)
		return repeated, err
	})
}

func (m *machine) refundOrder(t *rapid.T) {
	s := m.someOrder(t)
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
	s := m.someOrder(t)
	cmd := payment.CancelOrder{OrderID: s.id, Key: m.newKey()}
	m.do(t, "cancel", m.cancel(s), func() (bool, error) {
		_, repeated, err := m.real.payments.CancelOrder(ctx, seller, cmd)
		return repeated, err
	})
}

func (m *machine) advanceOrder(t *rapid.T) {
	s := m.someOrder(t)
	next := rapid.SampledFrom([]order.Status{order.Fulfilling, order.Shipped, order.Delivered}).Draw(t, "next")
	want := m.advance(s, next)
	_, err := m.real.orders.UpdateOrderStatus(ctx, seller, order.UpdateOrderStatus{OrderID: s.id, Status: next})
	if got := codeOf(t, err); got != want {
		t.Fatalf("advance to %s: %q, the model says %q", next, got, want)
	}
}
