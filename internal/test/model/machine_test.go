// Package modeltest holds a model of the business that is so small that a reader can see
// it is right: numbers in maps, without transactions. A property test sends random
// commands to the model and to the real use cases and compares the two.
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
	"example.com/orders/internal/test/commands"
	"example.com/orders/internal/test/memory"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/kit/guard"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// service holds the use cases on one of the stores.
type service struct {
	commands.Service
	keys guard.LookupStore
	// expire makes the reservations of the customers expire.
	expire func(customers []string) error
}

func TestModelOnMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		store := memory.New(func() time.Time { return now })
		expire := func([]string) error {
			now = now.Add(2 * commands.ReservationTTL)
			return nil
		}
		run(t, service{commands.NewService(store.Orders(), store.Payments(), nil), store.Keys(), expire})
	})
}

func TestModelOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	groups := &groupSizes{}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url)}, postgres.Groups{Lanes: 2, Observe: groups})
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
	live := service{commands.NewService(db.Orders(), db.Payments(), nil), db.Keys(), expire}
	rapid.Check(t, func(t *rapid.T) { run(t, live) })
	groups.wantShared(t)
}

// machine drives the model and the real service with the same commands.
type machine struct {
	model
	real      service
	run       string // makes the names of one run differ from those of the others
	customers []string
	skus      []string
	keys      int
	last      *command
}

var runs atomic.Int64

// run runs one random sequence of commands.
func run(t *rapid.T, r service) {
	m := &machine{real: r, run: strconv.FormatInt(runs.Add(1), 10), model: newModel()}
	for _, name := range []string{"ann", "bob"} {
		m.customers = append(m.customers, name+m.run)
		m.do(t, m.credits(balanceChange{name + m.run, 300, ""})) // enough for some orders, but not for all
	}
	for i, price := range []int{10, 25} {
		sku := fmt.Sprintf("sku%d-%s", i, m.run)
		m.skus = append(m.skus, sku)
		m.stock[sku] = &product{price: price}
		m.put(t, sku, 6)
	}
	t.Repeat(map[string]func(*rapid.T){
		"credit":  func(t *rapid.T) { m.do(t, m.credits(m.drawChange(t))) },
		"charge":  func(t *rapid.T) { m.do(t, m.charges(m.drawChange(t))) },
		"stock":   func(t *rapid.T) { m.put(t, m.sku(t), rapid.IntRange(0, 9).Draw(t, "on hand")) },
		"adjust":  func(t *rapid.T) { m.do(t, m.adjustStock(t)) },
		"order":   func(t *rapid.T) { m.do(t, m.placeOrder(t)) },
		"confirm": func(t *rapid.T) { m.do(t, m.confirmOrder(t)) },
		"extend":  func(t *rapid.T) { m.do(t, m.extendReservation(t)) },
		"refund":  func(t *rapid.T) { m.do(t, m.refundOrder(t)) },
		"cancel":  func(t *rapid.T) { m.do(t, m.cancelOrder(t)) },
		"group":   m.sendTogether,
		"advance": m.advanceOrder,
		"reservations expire": func(t *rapid.T) {
			m.expireReservations()
			if err := m.real.expire(m.customers); err != nil {
				t.Fatal(err)
			}
		},
		"expired reservations are released": func(t *rapid.T) {
			m.releaseExpired()
			if _, _, err := m.real.Orders.ReleaseExpiredReservations(ctx, order.Expiry{}, 1000); err != nil {
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

// reference draws a reference, mostly none.
func (m *machine) reference(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "first", "second"}).Draw(t, "reference")
}

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
func (m *machine) do(t *rapid.T, c *command) {
	want := c.model()
	repeated, err := c.send(ctx)
	if got := codeOf(t, err); got != want || repeated {
		t.Fatalf("%s: %q repeated=%v, the model says %q", c.name, got, repeated, want)
	}
	m.last = nil
	if want == done {
		m.last = c
	}
}

func codeOf(t *rapid.T, err error) core.Code {
	code, failure := resultOf(err)
	if failure != nil {
		t.Fatalf("a failure: %v", failure)
	}
	return code
}

// resultOf returns the result of a command, or why it has none.
func resultOf(err error) (_ core.Code, failure error) {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code, nil
	}
	return done, err
}

// repeat sends the last command that succeeded with its key: it must change nothing.
func (m *machine) repeat(t *rapid.T) {
	if m.last == nil {
		t.Skip("nothing to repeat")
	}
	if repeated, err := m.last.send(ctx); !repeated || err != nil {
		t.Fatalf("the second line of defence failed: repeated=%v %v", repeated, err)
	}
}

func (m *machine) put(t *rapid.T, sku string, onHand int) {
	want := m.putStock(sku, onHand)
	cmd := order.PutProduct{SKU: sku, Name: sku, Price: commands.Roubles(m.stock[sku].price), OnHand: new(int64(onHand))}
	if known, err := m.real.Orders.GetProduct(ctx, sku); err == nil {
		cmd.Versions = []int64{known.Version}
	}
	_, _, err := m.real.Orders.PutProduct(ctx, commands.Seller, cmd)
	if got := codeOf(t, err); got != want {
		t.Fatalf("put %d of %s: %q, the model says %q", onHand, sku, got, want)
	}
}

func (m *machine) advanceOrder(t *rapid.T) {
	s := m.someOrder(t)
	next := rapid.SampledFrom([]order.Status{order.Fulfilling, order.Shipped, order.Delivered}).Draw(t, "next")
	want := m.advance(s, next)
	_, err := commands.Advance(commands.Seller, next)(ctx, m.real.Service, s.id, "")
	if got := codeOf(t, err); got != want {
		t.Fatalf("advance to %s: %q, the model says %q", next, got, want)
	}
}

// command is a command with its own key. It has not run yet.
type command struct {
	name, key string
	// buyer is the customer who places an order, and "" for other commands.
	buyer string
	// model runs the command in the model, and returns its result.
	model func() core.Code
	// send runs it in the real service, and reports whether it was repeated.
	send func(context.Context) (repeated bool, err error)
}

// String returns the name and the key.
func (c *command) String() string { return c.name + " " + c.key }

// newCommand returns a command with a new key, which may be about an order.
func (m *machine) newCommand(name string, about *orderState, model func() core.Code, call commands.Call) *command {
	key := m.newKey()
	return &command{name: name, key: key, model: model, send: func(ctx context.Context) (bool, error) {
		answer, err := call(ctx, m.real.Service, about.id, key)
		if answer.Created != 0 {
			about.id = answer.Created
		}
		return answer.Repeated, err
	}}
}

// noOrder is for commands that are about no order.
var noOrder = &orderState{}

func (m *machine) adjustStock(t *rapid.T) *command {
	sku, change, name := m.sku(t), rapid.IntRange(-6, 6).Draw(t, "change"), m.reference(t)
	model := func() core.Code { return m.adjust(sku, change, name) }
	return m.newCommand("adjust", noOrder, model, commands.Adjust(commands.Seller, sku, change, name))
}

func (m *machine) drawChange(t *rapid.T) balanceChange {
	return balanceChange{m.customer(t), rapid.IntRange(1, 100).Draw(t, "amount"), m.reference(t)}
}

func (m *machine) credits(c balanceChange) *command {
	model := func() core.Code { return m.credit(c) }
	return m.newCommand("credit", noOrder, model, commands.Credit(commands.Bank, c.customer, c.amount, c.reference))
}

// undone is the refusal of a command that has written.
const undone = core.Code("undone")

// undoneCredit credits a customer and refuses then: the store must drop what it wrote.
func (m *machine) undoneCredit(t *rapid.T) *command {
	credit := commands.Credit(commands.Bank, m.customer(t), rapid.IntRange(1, 100).Draw(t, "amount"), "")
	return m.newCommand("undone credit", noOrder, func() core.Code { return undone }, commands.Undone(credit, undone))
}

func (m *machine) charges(c balanceChange) *command {
	model := func() core.Code { return m.charge(c) }
	return m.newCommand("charge", noOrder, model, commands.Charge(commands.Bank, c.customer, c.amount, c.reference))
}

func (m *machine) placeOrder(t *rapid.T) *command {
	s := &orderState{customer: m.customer(t), reference: m.reference(t)}
	for _, sku := range m.skus {
		if n := rapid.IntRange(0, 4).Draw(t, sku); n > 0 {
			s.items = append(s.items, order.Item{SKU: sku, Quantity: n})
		}
	}
	if len(s.items) == 0 {
		s.items = []order.Item{{SKU: m.skus[0], Quantity: 1}}
	}
	c := m.newCommand("order", s, func() core.Code { return m.order(s) }, commands.Order(buyer(s), s.customer, s.reference, s.items))
	c.buyer = s.customer
	return c
}

func buyer(s *orderState) core.Actor { return commands.Customer(s.customer) }

func (m *machine) confirmOrder(t *rapid.T) *command {
	s := m.someOrder(t)
	return m.newCommand("confirm", s, func() core.Code { return m.confirm(s) }, commands.Confirm(buyer(s), payment.FromBalance, ""))
}

func (m *machine) extendReservation(t *rapid.T) *command {
	s := m.someOrder(t)
	return m.newCommand("extend", s, func() core.Code { return m.extend(s) }, commands.Extend(buyer(s)))
}

func (m *machine) refundOrder(t *rapid.T) *command {
	s, amount, name := m.someOrder(t), fullRefund, m.reference(t)
	if rapid.Bool().Draw(t, "a part") {
		amount = rapid.IntRange(1, 100).Draw(t, "amount")
	}
	actor := buyer(s)
	if rapid.Bool().Draw(t, "by an administrator") {
		actor = commands.Admin
	}
	model := func() core.Code { return m.refund(s, amount, actor.Has(core.Admin), name) }
	return m.newCommand("refund", s, model, commands.Refund(actor, amount, name))
}

func (m *machine) cancelOrder(t *rapid.T) *command {
	s := m.someOrder(t)
	return m.newCommand("cancel", s, func() core.Code { return m.cancel(s) }, commands.Cancel(commands.Seller))
}
