package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/internal/test/pg/roundtrips"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/kit/guard"
)

// grouping is a store whose commands share transactions, and what it reports about them.
type grouping struct {
	*postgres.DB
	useCases
	observer
	lanes int
}

// grouped opens a store with lanes.
func grouped(t *testing.T, url string, lanes int) *grouping {
	t.Helper()
	g := &grouping{lanes: lanes}
	g.DB = openWith(t, postgres.Config{URL: url, Observe: g}, postgres.Groups{Lanes: lanes, Observe: g})
	g.useCases = useCasesOn(g.DB)
	return g
}

// newGroup opens a store with one lane, on a database of its own with ten packs of tea.
func newGroup(t *testing.T) (*database, *grouping) {
	t.Helper()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
	return d, g
}

// gather makes commands wait until release is called. A lane that was left a moment ago may
// not be free yet.
func (g *grouping) gather(t *testing.T) (release func()) {
	t.Helper()
	testwait.Until(t, "all lanes are free", func() (ok bool) {
		release, ok = g.Keys().Hold(g.lanes)
		return ok
	})
	return release
}

// expectNoSplit checks that no group failed: one that the database refuses is run again in
// parts, so that its commands have the same outcomes in the end.
func (g *grouping) expectNoSplit(t *testing.T) {
	t.Helper()
	if sizes, splits := g.groups(); splits > 0 {
		t.Errorf("groups of %v, of which %d were split", sizes, splits)
	}
}

// groups returns the sizes of the groups that ran, and how often one was split.
func (g *grouping) groups() (sizes []int, splits int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sizes), g.splits
}

// command is a command with an idempotency key.
type command struct {
	claim guard.Claim
	run   func(ctx context.Context, u useCases, key string) (body string, err error)
}

var commandsMade atomic.Int64

// newCommand returns a command with a key and a principal of its own.
func newCommand(operation string, run func(ctx context.Context, u useCases, key string) (string, error)) command {
	key := "key-" + strconv.FormatInt(commandsMade.Add(1), 10)
	id := guard.ID{Scope: guard.Scope("principal of " + key), Key: key}
	return command{guard.Claim{ID: id, Operation: operation, Fingerprint: "1"}, run}
}

// by returns the command of another principal.
func (c command) by(scope guard.Scope) command {
	c.claim.Scope = scope
	return c
}

// then returns the command with something that follows, which is run once: the run that
// ends at the first load does not reach it.
func (c command) then(next func() error) command {
	first := c.run
	c.run = func(ctx context.Context, u useCases, key string) (string, error) {
		body, err := first(ctx, u, key)
		if err != nil {
			return "", err
		}
		return body, next()
	}
	return c
}

// refused is what follows a command that is refused although it has changed something.
func refused() error { return core.Refuse(core.CodeInvalidOrderState, "refused") }

func credit(customer, amount string) command {
	return changeBalance("creditBalance", (*payment.Service).CreditBalance, payment.ChangeBalance{CustomerID: customer, Amount: roubles(amount)})
}

func charge(customer, amount string) command {
	return changeBalance("chargeBalance", (*payment.Service).ChargeBalance, payment.ChangeBalance{CustomerID: customer, Amount: roubles(amount)})
}

func changeBalance(
	operation string,
	change func(*payment.Service, context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error),
	cmd payment.ChangeBalance,
) command {
	return newCommand(operation, func(ctx context.Context, u useCases, key string) (string, error) {
		cmd := cmd
		cmd.Key = key
		e, _, err := change(u.payments, ctx, bank, cmd)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(e.ID), nil
	})
}

func customerNamed(name string) core.Actor {
	return core.Actor{Subject: name, Roles: []core.Role{core.Customer}}
}

func buy(customer, sku string, quantity int) command {
	return createOrder(customerNamed(customer), order.CreateOrder{Items: []order.Item{{SKU: sku, Quantity: quantity}}})
}

func createOrder(actor core.Actor, cmd order.CreateOrder) command {
	return newCommand("createOrder", func(ctx context.Context, u useCases, key string) (string, error) {
		cmd := cmd
		cmd.Key = key
		o, _, err := u.orders.CreateOrder(ctx, actor, cmd)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.ID), nil
	})
}

func reserve(customer string, orderID int64) command {
	return newCommand("reserveInventory", func(ctx context.Context, u useCases, key string) (string, error) {
		_, _, err := u.orders.ReserveInventory(ctx, customerNamed(customer), order.ReserveInventory{OrderID: orderID, Key: key})
		return "", err
	})
}

func pay(customer string, orderID int64) command {
	return newCommand("confirmPayment", func(ctx context.Context, u useCases, key string) (string, error) {
		p, _, err := u.payments.ConfirmPayment(ctx, customerNamed(customer), payment.ConfirmPayment{OrderID: orderID, Method: payment.FromBalance, Key: key})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(p.ID), nil
	})
}

func refund(customer string, orderID int64, amount string) command {
	return newCommand("refundPayment", func(ctx context.Context, u useCases, key string) (string, error) {
		r, _, err := u.payments.RefundPayment(ctx, customerNamed(customer), payment.RefundPayment{OrderID: orderID, Amount: new(roubles(amount)), Key: key})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.ID), nil
	})
}

func cancel(customer string, orderID int64) command {
	return newCommand("cancelOrder", func(ctx context.Context, u useCases, key string) (string, error) {
		o, _, err := u.payments.CancelOrder(ctx, customerNamed(customer), payment.CancelOrder{OrderID: orderID, Reason: "too late", Key: key})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.ID), nil
	})
}

// answer is what a command returned.
type answer struct {
	rec      guard.Record
	replayed bool
	err      error
}

// done is the outcome of a command that succeeded.
const done = "done"

// outcome returns done, the code of a refusal, or the kind of the error.
func (a answer) outcome() string {
	text := done
	_, panicked := errors.AsType[*panics.Error](a.err)
	switch {
	case panicked:
		text = "panic"
	case errors.Is(a.err, guard.ErrInProgress):
		text = "in progress"
	case a.err != nil:
		text = kindOf(a.err)
	case a.rec.Status != 200:
		text = string(a.rec.Body)
	}
	if a.replayed {
		text = "replayed: " + text
	}
	return text
}

// execute runs a command as the guard does.
func (g *grouping) execute(ctx context.Context, c command) answer {
	var a answer
	a.rec, a.replayed, a.err = g.Keys().Execute(ctx, c.claim, func(ctx context.Context) (guard.Result, error) {
		body, err := c.run(ctx, g.useCases, c.claim.Key)
		if fault, ok := errors.AsType[*core.Fault](err); ok {
			response := guard.Response{Status: 409, Body: []byte(fault.Code)}
			return guard.Result{Response: response, Refused: true, TTL: time.Hour}, nil
		}
		return guard.Result{Response: guard.Response{Status: 200, Body: []byte(body)}, TTL: time.Hour}, err
	})
	return a
}

// start starts a command.
func (g *grouping) start(ctx context.Context, c command) <-chan answer {
	answered := make(chan answer, 1)
	go func() { answered <- g.execute(ctx, c) }()
	return answered
}

// queue starts a command and waits until it is in the queue.
func (g *grouping) queue(t *testing.T, ctx context.Context, c command) <-chan answer { //nolint:revive // t comes first
	t.Helper()
	before := g.Keys().Waiting()
	answered := g.start(ctx, c)
	testwait.Until(t, "the command is in the queue", func() bool { return g.Keys().Waiting() > before })
	return answered
}

// begin starts commands as one group, in their sequence.
func (g *grouping) begin(t *testing.T, commands ...command) []<-chan answer {
	t.Helper()
	release := g.gather(t)
	defer release()
	answered := make([]<-chan answer, len(commands))
	for i, c := range commands {
		answered[i] = g.queue(t, t.Context(), c)
	}
	return answered
}

// together runs commands as one group, in their sequence.
func (g *grouping) together(t *testing.T, commands ...command) []answer {
	t.Helper()
	return collect(t, g.begin(t, commands...))
}

// collect waits for answers.
func collect(t *testing.T, answered []<-chan answer) []answer {
	t.Helper()
	answers := make([]answer, len(answered))
	for i, from := range answered {
		answers[i] = receive(t, from)
	}
	return answers
}

func receive(t *testing.T, from <-chan answer) answer {
	t.Helper()
	select {
	case a := <-from:
		return a
	case <-time.After(testwait.Patience):
		t.Fatal("a command was not answered")
		return answer{}
	}
}

// alone runs a command that nothing else waits with, and expects it to succeed. It returns
// the id in the response.
func (g *grouping) alone(t *testing.T, c command) int64 {
	t.Helper()
	a := g.execute(t.Context(), c)
	if a.outcome() != done {
		t.Fatalf("%s: %s, %v", c.claim.Operation, a.outcome(), a.err)
	}
	id, err := strconv.ParseInt(string(a.rec.Body), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// stock creates a product of the shop, or sets its quantity.
func (g *grouping) stock(t *testing.T, sku string, onHand int64) {
	t.Helper()
	cmd := order.PutProduct{SKU: sku, Name: "Tea", Price: roubles("1.00"), OnHand: &onHand}
	if _, _, err := g.orders.PutProduct(t.Context(), shop, cmd); err != nil {
		t.Fatal(err)
	}
}

// largestGroup is how many commands a group has at most.
const largestGroup = 64

// A group has as many round trips as one command, whatever its commands are.
func TestGroup_HasTheRoundTripsOfOneCommand(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, plain := grouped(t, url, 1), grouped(t, d.url, 1)
	plain.stock(t, "tea", 1000)
	for _, run := range []string{"prepares the statements", "counted"} {
		members := make([]command, largestGroup)
		for i := range members {
			customer := fmt.Sprint(run, i)
			plain.alone(t, credit(customer, "10.00"))
			orderID := plain.alone(t, buy(customer, "tea", 1))
			members[i] = []command{credit(customer, "1.00"), charge(customer, "1.00"), buy(customer, "tea", 1), pay(customer, orderID)}[i%4]
		}
		proxy.Take()
		for i, a := range g.together(t, members...) {
			if a.outcome() != done {
				t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
			}
		}
		if trips := proxy.Take(); run == "counted" && len(trips) != 3 {
			t.Errorf("%d round trips, want 3: %q", len(trips), trips)
		}
	}
	if sizes, splits := g.groups(); fmt.Sprint(sizes, splits) != "[64 64] 0" {
		t.Errorf("groups of %v, %d splits; want two of 64", sizes, splits)
	}
}

// counting starts a proxy that counts round trips, and returns the URL of the database
// behind it, for one connection. The store is closed before the proxy, which waits for its
// connections.
func (d *database) counting(t *testing.T) (*roundtrips.Proxy, string) {
	t.Helper()
	proxy := roundtrips.Start(t, d.url)
	return proxy, proxy.URL() + "&pool_max_conns=1"
}

// In a storm of retries, a group of replays is one lookup outside a transaction. A new
// command among them still runs, and one whose record has expired.
func TestGroup_ReplaysOfAStormAreOneLookup(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	for range 2 { // the first starts the storm, the second prepares its statements
		g.together(t, elsewhere.stored(t, 16)...)
	}
	storm := elsewhere.stored(t, 16)
	g.awaitRollback(t)
	proxy.Take()

	answers := g.together(t, storm...)

	trips := proxy.Take()
	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	if len(trips) != 1 || strings.Contains(fmt.Sprint(trips), "begin") {
		t.Errorf("%d round trips: %q; want one lookup", len(trips), trips)
	}
	expired := credit("eve", "1.00")
	d.storeExpired(t, expired.claim.ID)
	expect(t, g.together(t, elsewhere.stored(t, 1)[0], credit("bob", "1.00"), expired), "replayed: done", done, done)
}

// The first replays of a storm are answered after one round trip: their ROLLBACK comes
// later.
func TestGroup_ReplaysAreAnsweredBeforeTheirRollback(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	g.together(t, elsewhere.stored(t, 4)...) // prepares the statements
	replays := elsewhere.stored(t, 4)
	g.awaitRollback(t)
	release := proxy.HoldAfter(1)
	t.Cleanup(release)

	answers := g.together(t, replays...)

	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
}

// stored runs n commands and returns them.
func (g *grouping) stored(t *testing.T, n int) []command {
	t.Helper()
	commands := make([]command, n)
	for i := range commands {
		commands[i] = credit("ann", "1.00")
		g.alone(t, commands[i])
	}
	return commands
}

// awaitRollback waits until the store's only connection is back in its pool.
func (g *grouping) awaitRollback(t *testing.T) {
	t.Helper()
	conn, err := g.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()
}
