package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

// state is everything that is stored. Its values are replaced and never changed, so a
// copy of the maps is a complete copy.
type state struct {
	products   map[string]*order.Product
	adjusted   map[int64]*order.StockAdjustment
	orders     map[int64]*order.Order
	extensions map[extension]bool
	payments   map[int64]*payment.Payment
	refunds    map[int64]*payment.Refund
	balances   map[balanceKey]*payment.Balance
	entries    map[int64]*payment.LedgerEntry
	profiles   map[string]*customer.Profile
	records    map[idempotency.ID]idempotency.Record
	messages   map[message]bool
	intents    []Intent
	events     []core.Event
	audit      []core.AuditEntry
}

// extension is the operation that extended the reservation of an order.
type extension struct {
	orderID int64
	by      core.Operation
}

// message identifies a message that has been processed.
type message struct{ source, id string }

// Intent is a job for the card provider that has not run.
type Intent struct {
	// Kind is "settle_payment" or "settle_refund", and ID the payment's or refund's.
	Kind string
	ID   int64
}

// balanceKey is the key of a balance.
type balanceKey struct {
	customerID string
	currency   core.Currency
}

func (s *state) copy() *state {
	return &state{
		products: copyMap(s.products), adjusted: copyMap(s.adjusted), orders: copyMap(s.orders), extensions: copyMap(s.extensions),
		payments: copyMap(s.payments), refunds: copyMap(s.refunds),
		balances: copyMap(s.balances), entries: copyMap(s.entries),
		profiles: copyMap(s.profiles), records: copyMap(s.records),
		messages: copyMap(s.messages), intents: slices.Clip(s.intents),
		// A clipped slice is copied by append, so the original does not change.
		events: slices.Clip(s.events), audit: slices.Clip(s.audit),
	}
}

func copyMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// The store shares no memory with its callers: values are copied on the way in and out.

func copyOf[T any](v *T) *T {
	c := *v
	return &c
}

func copyOrder(o *order.Order) *order.Order {
	c := copyOf(o)
	c.Lines = slices.Clone(o.Lines)
	if o.Cancellation != nil {
		c.Cancellation = copyOf(o.Cancellation)
	}
	return c
}

// uuidOf returns the UUID of a payment or a refund.
func uuidOf(id int64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", id) }

// stamp reduces a time to the precision of PostgreSQL.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// row is a value with its position in a list.
type row[T any] struct {
	core.Position
	value T
}

// rowsOf returns the values that match, newest first.
func rowsOf[K comparable, T any](all map[K]T, match func(T) bool, at func(T) core.Position) []row[T] {
	var found []row[T]
	for _, v := range all {
		if match(v) {
			found = append(found, row[T]{at(v), v})
		}
	}
	slices.SortFunc(found, func(a, b row[T]) int { return compare(b.Position, a.Position) })
	return found
}

// pageOf returns one row more than the page asks for. The rows must be newest first.
func pageOf[T any](rows []row[T], page core.Page, copied func(T) T) []T {
	found := []T{}
	for _, r := range rows {
		after := page.After.CreatedAt.IsZero() || compare(r.Position, page.After) < 0
		if after && len(found) <= page.Limit {
			found = append(found, copied(r.value))
		}
	}
	return found
}

func compare(a, b core.Position) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}
