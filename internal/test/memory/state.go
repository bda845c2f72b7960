package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/kit/guard"
)

// state is everything that is stored. The values are replaced and never changed, so a
// copy of the maps is a complete copy.
type state struct {
	products   map[string]*order.Product
	adjusted   map[int64]*order.StockAdjustment
	orders     map[int64]*order.Order
	extensions map[extension]bool
	payments   map[int64]*payment.Payment
	refunds    map[int64]*payment.Refund
	disputes   map[string]*dispute
	balances   map[balanceKey]*payment.Balance
	entries    map[int64]*payment.LedgerEntry
	profiles   map[string]*customer.Profile
	endpoints  map[int64]*webhook.Endpoint
	deliveries map[int64]*webhook.Delivery
	records    map[guard.ID]guard.Record
	messages   map[message]bool
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

// dispute is a dispute of a payment.
type dispute struct {
	cards.Dispute
	paymentID, orderID int64
}

type balanceKey struct {
	customerID string
	currency   core.Currency
}

func (s *state) copy() *state {
	return &state{
		products: copyMap(s.products), adjusted: copyMap(s.adjusted), orders: copyMap(s.orders),
		extensions: copyMap(s.extensions), payments: copyMap(s.payments), refunds: copyMap(s.refunds), disputes: copyMap(s.disputes),
		balances: copyMap(s.balances), entries: copyMap(s.entries), profiles: copyMap(s.profiles),
		endpoints: copyMap(s.endpoints), deliveries: copyMap(s.deliveries),
		records: copyMap(s.records), messages: copyMap(s.messages),
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

// copyOf copies a value on its way in or out: the store shares no memory with callers.
func copyOf[T any](v *T) *T { return new(*v) }

// find returns a copy of a row.
func find[K comparable, T any](rows map[K]*T, key K) (*T, error) {
	if v, found := rows[key]; found {
		return copyOf(v), nil
	}
	return nil, core.ErrNotFound
}

// has reports whether a row matches.
func has[K comparable, T any](rows map[K]T, match func(T) bool) bool {
	for _, v := range rows {
		if match(v) {
			return true
		}
	}
	return false
}

// stamp reduces a time to the precision of PostgreSQL.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// list returns copies of the rows that match, newest first: those of a page and one more.
func list[K comparable, T any](rows map[K]*T, match func(*T) bool, at func(*T) core.Position, page core.Page) []*T {
	found := []*T{}
	for _, v := range rows {
		if match(v) && (page.After.CreatedAt.IsZero() || compare(at(v), page.After) < 0) {
			found = append(found, copyOf(v))
		}
	}
	slices.SortFunc(found, func(a, b *T) int { return compare(at(b), at(a)) })
	return found[:min(page.Limit+1, len(found))]
}

// all is a page that has room for every row.
var all = core.Page{Limit: 1 << 30}

func compare(a, b core.Position) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// NextID returns an id. All sequences count together: no two kinds share an id, so a
// test notices when one is used for the wrong value.
func (t *tx) NextID(context.Context, core.Sequence) (int64, error) { return t.store.lastID.Add(1), nil }

// Recall reports whether a message is recorded. This store forgets no message.
func (t *tx) Recall(_ context.Context, source, id string) (bool, time.Time, error) {
	return t.messages[message{source, id}], time.Time{}, nil
}

// Record records a message.
func (t *tx) Record(_ context.Context, m core.Message) error {
	t.messages[message{m.Source, m.ID}] = true
	return nil
}

// Renew is a no-op, because this store forgets no message.
func (t *tx) Renew(context.Context, core.Message) error { return nil }

// outbox implements [core.Outbox].
type outbox struct{ *tx }

// Add appends an event to the outbox.
func (t outbox) Add(_ context.Context, e core.Event) error {
	t.events = append(t.events, e)
	return nil
}

// auditLog implements [core.AuditLog] and [audit.Entries].
type auditLog struct{ *tx }

// Add appends an entry to the audit log.
func (t auditLog) Add(_ context.Context, e core.AuditEntry) error {
	e.ID, e.At = int64(len(t.audit)+1), t.now
	t.audit = append(t.audit, e)
	return nil
}

// List returns a page of the audit log and one entry more, newest first.
func (t auditLog) List(_ context.Context, page core.Page) ([]core.AuditEntry, error) {
	found := []core.AuditEntry{}
	for _, e := range slices.Backward(t.audit) {
		if page.After.ID == 0 || e.ID < page.After.ID {
			found = append(found, e)
		}
	}
	return found[:min(page.Limit+1, len(found))], nil
}

// profiles implements [customer.Profiles].
type profiles struct{ *tx }

// Get returns a profile.
func (t profiles) Get(_ context.Context, customerID string) (*customer.Profile, error) {
	return find(t.profiles, customerID)
}

// Lock returns a profile. The transaction already has exclusive access to everything.
func (t profiles) Lock(_ context.Context, customerID string) (*customer.Profile, error) {
	return find(t.profiles, customerID)
}

// Save inserts or updates a profile.
func (t profiles) Save(_ context.Context, p *customer.Profile) error {
	if t.profiles[p.CustomerID] != nil && p.New {
		return duplicate("profile of one customer")
	}
	stored := copyOf(p)
	stored.New, stored.CreatedAt, stored.UpdatedAt = false, stamp(p.CreatedAt), stamp(p.UpdatedAt)
	t.profiles[p.CustomerID] = stored
	return nil
}

// Delete deletes a profile.
func (t profiles) Delete(_ context.Context, customerID string) error {
	delete(t.profiles, customerID)
	return nil
}

// uuidOf returns the UUID of a payment or a refund.
func uuidOf(id int64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", id) }
