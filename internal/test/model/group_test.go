package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/core"
	"example.com/orders/internal/test/commands"
	"example.com/orders/kit/guard"
)

// together are commands that are sent at the same moment. Each takes its turn when it runs
// for the last time: it has locked what it decides about, so that others about the same come
// before or after it. The model runs them in that order.
type together struct {
	commands []*command
	outcomes []outcome

	mu    sync.Mutex
	turns []turn
}

// turn is the result that a command returned to the store.
type turn struct {
	*command
	result core.Code
}

// String returns the command and its result.
func (taken turn) String() string { return fmt.Sprintf("%s %q", taken.command, taken.result) }

// outcome is what the store returned to a caller.
type outcome struct {
	rec      guard.Record
	replayed bool
	err      error
}

// sendTogether sends 2 to 64 commands at the same moment. Each must have the result that
// the model has when it runs them one by one.
func (m *machine) sendTogether(t *rapid.T) {
	g := &together{commands: m.drawTogether(t)}
	g.outcomes = make([]outcome, len(g.commands))
	var sending sync.WaitGroup
	start := make(chan struct{})
	for i, c := range g.commands {
		sending.Go(func() {
			<-start
			o := &g.outcomes[i]
			o.rec, o.replayed, o.err = m.real.keys.Execute(ctx, claimOf(c), g.run(c))
		})
	}
	close(start)
	sending.Wait()
	results := m.runOneByOne(t, g.turns)
	g.check(t, results)
	m.lookUp(t, rapid.SampledFrom(g.commands).Draw(t, "looked up"), results)
}

// runOneByOne runs the commands in the model, compares the results, and returns them by key.
//
// Unpaid orders are counted and not locked. So the bound may refuse an order for which a
// payment or a cancellation has just made room: it is enough that there are too many
// without those.
func (m *machine) runOneByOne(t *rapid.T, turns []turn) map[string]core.Code {
	results, unpaid := map[string]core.Code{}, map[string]int{}
	for _, customer := range m.customers {
		unpaid[customer] = m.unpaid(customer)
	}
	for i, taken := range turns {
		results[taken.key] = taken.result
		if taken.result == tooMany && unpaid[taken.buyer] >= commands.MaxUnpaidOrders {
			continue
		}
		if want := taken.model(); taken.result != want {
			t.Fatalf("%v: the model says %q", turns[:i+1], want)
		}
		if taken.result == done {
			unpaid[taken.buyer]++
		}
	}
	return results
}

// drawTogether draws commands. Sometimes the same one is there twice.
func (m *machine) drawTogether(t *rapid.T) []*command {
	kinds := []func(*rapid.T) *command{
		func(t *rapid.T) *command { return m.credits(m.drawChange(t)) },
		func(t *rapid.T) *command { return m.charges(m.drawChange(t)) },
		m.placeOrder, m.adjustStock, m.undoneCredit,
	}
	if len(m.orders) > 0 {
		kinds = append(kinds, m.confirmOrder, m.extendReservation, m.refundOrder, m.cancelOrder)
	}
	drawn := make([]*command, rapid.IntRange(2, 64).Draw(t, "commands"))
	for i := range drawn {
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "duplicate") == 9 {
			drawn[i] = rapid.SampledFrom(drawn[:i]).Draw(t, "first")
			continue
		}
		drawn[i] = rapid.SampledFrom(kinds).Draw(t, "kind")(t)
	}
	return drawn
}

func claimOf(c *command) guard.Claim {
	return guard.Claim{
		ID: guard.ID{Scope: "model", Key: c.key}, Operation: c.name, Fingerprint: guard.Fingerprint(c.key),
	}
}

// run returns the command as the guard sends it to the store: a refusal is a result.
func (g *together) run(c *command) guard.Command {
	return func(ctx context.Context) (guard.Result, error) {
		repeated, err := c.send(ctx)
		if repeated {
			return guard.Result{}, fmt.Errorf("%s %s is repeated", c.name, c.key)
		}
		code, failure := resultOf(err)
		if failure != nil {
			return guard.Result{}, failure
		}
		g.takeTurn(turn{c, code})
		return guard.Result{
			Response: guard.Response{Status: 200, Body: []byte(code)}, Refused: code != done, TTL: time.Hour,
		}, nil
	}
}

// takeTurn adds a turn, and drops that of a run which was rolled back.
func (g *together) takeTurn(taken turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turns = slices.DeleteFunc(g.turns, func(before turn) bool { return before.command == taken.command })
	g.turns = append(g.turns, taken)
}

// check checks what the callers got. Each key has one result, which one caller caused. The
// others with the same key got it, too, or the answer that it was in progress.
func (g *together) check(t *rapid.T, results map[string]core.Code) {
	caused := map[string]int{}
	for i, o := range g.outcomes {
		c := g.commands[i]
		switch result, ran := results[c.key]; {
		case errors.Is(o.err, guard.ErrInProgress):
		case o.err != nil:
			t.Fatalf("%s: %v", c.name, o.err)
		case !ran || string(o.rec.Body) != string(result):
			t.Fatalf("%s: the caller got %q, the command returned %q", c.name, o.rec.Body, result)
		case !o.replayed:
			caused[c.key]++
		}
	}
	for _, c := range g.commands {
		if caused[c.key] != 1 {
			t.Fatalf("%d callers caused %s %s, want 1", caused[c.key], c.name, c.key)
		}
	}
}

// lookUp checks that the result of a command is stored.
func (m *machine) lookUp(t *rapid.T, c *command, results map[string]core.Code) {
	rec, found, err := m.real.keys.Lookup(ctx, claimOf(c).ID)
	if err != nil || !found || string(rec.Body) != string(results[c.key]) {
		t.Fatalf("%s: stored %v %q %v, want %q", c.name, found, rec.Body, err, results[c.key])
	}
}

// groupSizes counts commands that shared transactions.
type groupSizes struct {
	group.Unobserved
	mu             sync.Mutex
	groups, shared int
	largest        int
}

func (g *groupSizes) GroupRan(members int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups++
	g.shared += members - 1
	g.largest = max(g.largest, members)
}

// wantShared checks that commands shared transactions at all.
func (g *groupSizes) wantShared(t testing.TB) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	t.Logf("%d groups; %d commands joined another; the largest group had %d", g.groups, g.shared, g.largest)
	if g.shared == 0 {
		t.Error("no command shared the transaction of another")
	}
}
