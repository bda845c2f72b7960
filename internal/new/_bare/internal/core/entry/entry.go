// Package entry is an example: the smallest aggregate with a guarded command and a query.
// Replace it with the first one of this service.
package entry

import (
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// Entry is an amount of money that somebody has recorded. It never changes.
type Entry struct {
	ID          int64
	Amount      core.Money
	Description string
	// CreatedBy is whose entry it is, and the operation that the second line of defence
	// knows it by.
	CreatedBy core.Operation
	CreatedAt time.Time
}

// EventCreated is the type of the event about a new entry.
const EventCreated core.EventType = "entry.created"

// Owners returns whose the entry is.
func (e *Entry) Owners() core.Owners { return core.Owners{Customer: e.CreatedBy.Actor} }

func (e *Entry) resource() string { return fmt.Sprintf("entry/%d", e.ID) }

func (e *Entry) created() core.Event {
	return core.Event{Type: EventCreated, Aggregate: e.resource(), Data: map[string]any{
		"entry_id": e.ID, "customer_id": e.CreatedBy.Actor,
		"amount": e.Amount.Decimal(), "currency": string(e.Amount.Currency()),
	}}
}
