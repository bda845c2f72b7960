package step

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/test/memory"
	"example.com/orders/kit/guard"
)

// initial is the stock that setUp puts.
const initial = `{"tea": 7, "cup": 3}`

// stored lists the keys that have a record.
const stored = `SELECT 'stored ' || scope || '/' || key FROM idempotency_record WHERE key LIKE 'key-%'`

// check checks the database after a change, and notes which keys have a record.
func (r *run) check(changed tables) {
	r.w.changed |= changed
	found, err := r.w.violations(changed)
	r.fail(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range found {
		id, isStored := strings.CutPrefix(line, "stored ")
		if !isStored {
			r.found = append(r.found, line)
			continue
		}
		scope, key, _ := strings.Cut(id, "/")
		r.stored[guard.ID{Scope: guard.Scope(scope), Key: key}] = true
	}
}

// checkEnd compares a run's end with the rules.
func (r *run) checkEnd() {
	if len(r.found) > 0 {
		return
	}
	end, deliveries, err := r.w.end()
	r.fail(err)
	var state []string
	for _, line := range end {
		if swapped, isSwapped := strings.CutPrefix(line, "swapped "); isSwapped {
			r.found = append(r.found, "the outbox has the events of "+swapped+" in another order")
			continue
		}
		state = append(state, line)
	}
	if len(r.found) == 0 {
		r.checkSerial(state)
	}
	r.checkPublished()
	r.checkDeliveries(deliveries)
}

// checkIdle checks that no replica keeps a lane, a key, a share or a mark.
func (r *run) checkIdle(lanes int) {
	time.Sleep(tick) // a lane pauses after a large group
	r.settle()
	for i, db := range r.replicas {
		release, free := db.Keys().Hold(lanes)
		if len(r.found) > 0 {
			return
		}
		if !free || !db.Keys().Idle() {
			r.found = append(r.found, fmt.Sprintf("replica %c keeps a lane, a key, a share or a mark", 'a'+i))
			return
		}
		release()
	}
}

// final is the state that commands leave, without ids and times, and the orders whose
// events have another order.
const final = `
	SELECT format('product %s: %s, %s', sku, on_hand, reserved) FROM product
	UNION ALL SELECT format('balance of %s: %s', customer_id, round(amount, 2)) FROM balance
	UNION ALL SELECT format('order %s: %s %s %s %s', o.idempotency_key, o.status, o.reserved_until IS NOT NULL,
		coalesce((SELECT round(sum(amount), 2) FROM payment p WHERE p.order_id = o.id), 0.00),
		coalesce((SELECT round(sum(amount), 2) FROM refund f WHERE f.order_id = o.id AND f.status <> 'failed'), 0.00)) FROM orders o
	UNION ALL SELECT 'swapped ' || aggregate FROM (
		SELECT aggregate, (data->>'version')::bigint AS version,
		       row_number() OVER (PARTITION BY aggregate ORDER BY id) AS n FROM outbox WHERE aggregate LIKE 'order/%') e
		WHERE version <> n`

// reference is the service in memory, where commands run one by one.
type reference struct {
	*service
	of      names
	created []createdOrder
}

type createdOrder struct {
	key string
	id  int64
}

// today is the time of the reference.
func today() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// origin is the reference after setUp.
var origin = sync.OnceValues(func() (origin struct {
	store *memory.Store
	of    names
}, err error) {
	now := today()
	origin.store = memory.New(func() time.Time { return now })
	s := newService(newProvider(), origin.store.Orders(), origin.store.Payments(), origin.store.Webhooks(), origin.store.Keys())
	origin.of, err = s.prepare(context.Background(), func(name string) {
		now = today()
		if name == "expired" {
			now = now.Add(-2 * time.Hour)
		}
	})
	return origin, err
})

func newReference() (*reference, error) {
	origin, err := origin()
	if err != nil {
		return nil, err
	}
	store := origin.store.Clone(today)
	s := &reference{service: newService(newProvider(), store.Orders(), store.Payments(), store.Webhooks(), store.Keys()), of: origin.of}
	for i, name := range orderNames {
		s.created = append(s.created, createdOrder{fmt.Sprintf("setup-%d", 4+i), s.of[name]})
	}
	return s, nil
}

// state is final in memory.
func (s *reference) state() ([]string, error) {
	var all []string
	products, _, err := s.Orders.ListProducts(context.Background(), core.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	for _, p := range products {
		all = append(all, fmt.Sprintf("product %s: %d, %d", p.SKU, p.OnHand, p.Reserved))
	}
	for _, of := range []core.Actor{ann, bob} {
		balances, err := s.Payments.GetBalance(context.Background(), of, of.Subject)
		if err != nil {
			return nil, err
		}
		for _, b := range balances {
			all = append(all, fmt.Sprintf("balance of %s: %s", of.Subject, b.Amount.Decimal()))
		}
	}
	for _, o := range s.created {
		line, err := s.orderState(o.id)
		if err != nil {
			return nil, err
		}
		all = append(all, "order "+o.key+": "+line)
	}
	slices.Sort(all)
	return all, nil
}

// orderState returns an order's status, whether it has a reservation, and what was paid and
// refunded.
func (s *reference) orderState(id int64) (string, error) {
	o, err := s.Orders.GetOrderByID(context.Background(), admin, id)
	if err != nil {
		return "", err
	}
	payments, err := s.Payments.ListPayments(context.Background(), admin, id)
	paid, refunded := core.Zero("RUB"), core.Zero("RUB")
	for _, p := range payments {
		paid, _ = paid.Add(p.Amount)
		refunded, _ = refunded.Add(p.Refunded())
	}
	reserved := "f" // as PostgreSQL writes it
	if !o.ReservedUntil.IsZero() {
		reserved = "t"
	}
	return fmt.Sprintf("%s %s %s %s", o.Status, reserved, paid.Decimal(), refunded.Decimal()), err
}

// checkSerial searches an order of the commands, one by one, that has the same outcomes and
// the same end. A command that ended before another began comes before it.
func (r *run) checkSerial(final []string) {
	slices.Sort(final)
	all := slices.Clone(r.attempts)
	slices.SortStableFunc(all, func(a, b *attempt) int { return a.ended - b.ended }) // most likely this one
	if r.leads(all, final) || r.explains(nil, all, final) {
		return
	}
	outcomes := make([]string, len(all))
	for i, a := range all {
		outcomes[i] = fmt.Sprintf("%s: %s", a.command, a.outcome)
	}
	r.found = append(r.found, fmt.Sprintf("no order of the commands, one by one, explains these outcomes:\n\t%s\nand this end:\n\t%s",
		strings.Join(outcomes, "\n\t"), strings.Join(final, "\n\t")))
}

// leads reports whether commands, one by one, have the same outcomes and the same end.
func (r *run) leads(taken []*attempt, final []string) bool {
	s, same := r.replay(taken)
	if !same {
		return false
	}
	state, err := s.state()
	r.fail(err)
	return slices.Equal(state, final)
}

// explains reports whether an order that begins with taken explains the run.
func (r *run) explains(taken, rest []*attempt, final []string) bool {
	if len(rest) == 0 {
		return r.leads(taken, final)
	}
	if _, same := r.replay(taken); !same {
		return false
	}
	for i, next := range rest {
		if slices.ContainsFunc(rest, func(other *attempt) bool { return other.precedes(next) }) {
			continue
		}
		others := slices.Delete(slices.Clone(rest), i, i+1)
		if r.explains(append(slices.Clone(taken), next), others, final) || next.maybe && r.explains(taken, others, final) {
			return true
		}
	}
	return false
}

// precedes reports whether the attempt was answered before another one was sent.
func (a *attempt) precedes(other *attempt) bool {
	return a != other && !a.failed && a.ended < other.begun
}

// replay runs commands one by one in memory, and reports whether they have the same outcomes.
func (r *run) replay(taken []*attempt) (s *reference, same bool) {
	s, err := newReference()
	if err != nil {
		r.fail(err)
		return nil, false
	}
	for _, a := range taken {
		// A read without an answer has no outcome, and unpaid orders are counted without a lock
		// on those that a payment or a cancellation changes.
		if a.failed && !a.maybe || a.outcome == string(core.CodeUnpaidOrdersLimit) {
			continue
		}
		c := *a.command
		outcome, err := c.perform(context.Background(), s.service, s.of)
		if err != nil || !a.maybe && outcome != a.outcome {
			return nil, false
		}
		if c.order != 0 {
			s.created = append(s.created, createdOrder{c.key, c.order})
		}
	}
	return s, true
}

// checkPublished checks that the relays show the events of each order by their versions.
func (r *run) checkPublished() {
	seen := map[string]int{}
	for _, e := range r.published {
		var data struct{ Version int }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			r.fail(err)
			return
		}
		if strings.HasPrefix(e.Aggregate, "order/") && data.Version > seen[e.Aggregate]+1 {
			r.found = append(r.found, fmt.Sprintf("%s version %d was published after version %d", e.Aggregate, data.Version, seen[e.Aggregate]))
		}
		seen[e.Aggregate] = max(seen[e.Aggregate], data.Version)
	}
}
