package webhook

import (
	"math/rand/v2"
	"time"

	"example.com/orders/internal/core"
)

// Status is a delivery state.
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
	// Last is how the last attempt ended.
	Last       Outcome
	CreatedAt  time.Time
	FinishedAt time.Time
}

// pauses follow failed attempts. After the last one it is given up.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// maxRetryAfter bounds what a receiver may ask for.
const maxRetryAfter = 24 * time.Hour

// after returns the delivery as its last attempt leaves it.
func after(a Attempt, o Outcome, now time.Time) *Delivery {
	d := &Delivery{ID: a.DeliveryID, Attempts: a.Number, Last: o}
	switch {
	case o.Failure == "":
		d.Status, d.FinishedAt = Delivered, now
	case a.Number > len(pauses):
		d.Status, d.FinishedAt = Failed, now
	default:
		d.Status, d.NextAttemptAt = Pending, now.Add(max(jittered(pauses[a.Number-1]), min(o.RetryAfter, maxRetryAfter)))
	}
	return d
}

// jittered changes a pause by up to a tenth, so that deliveries which failed together do not
// return together.
func jittered(pause time.Duration) time.Duration {
	return pause*9/10 + rand.N(pause/5)
}
