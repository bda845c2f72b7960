package webhook

import (
	"time"

	"example.com/orders/internal/core"
)

// Status is the state of a delivery.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed" // no attempt is left
)

// Delivery is one event for one endpoint.
type Delivery struct {
	ID         int64
	EndpointID int64
	// EventID identifies the event to its receivers, at every attempt and retry.
	EventID   string
	EventType core.EventType
	Status    Status
	// Attempts counts the attempts that have begun.
	Attempts int
	// NextAttemptAt is zero unless the delivery is pending. During an attempt, it is the
	// time at which the attempt counts as lost.
	NextAttemptAt time.Time
	// Last is the outcome of the last attempt.
	Last       Outcome
	CreatedAt  time.Time
	FinishedAt time.Time
}

// note records the last attempt, and decides whether the next one follows.
func (d *Delivery) note(o Outcome, now time.Time, jitter float64) {
	d.Last = o
	wait, again := pause(d.Attempts, o.RetryAfter, jitter)
	switch {
	case o.Failure == "":
		d.Status, d.NextAttemptAt, d.FinishedAt = Delivered, time.Time{}, now
	case again:
		d.NextAttemptAt = now.Add(wait)
	default:
		d.Status, d.NextAttemptAt, d.FinishedAt = Failed, time.Time{}, now
	}
}
