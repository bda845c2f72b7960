package webhook

import (
	"strconv"
	"strings"
	"time"

	"example.com/orders/internal/core"
)

// Endpoint is a URL that receives events. The secret that signs them is absent: only
// [Queue] loads it, for an attempt.
type Endpoint struct {
	ID int64
	// Owner made the endpoint. One owner has one endpoint for a URL.
	Owner string
	// SellerID is the seller whose events the endpoint receives, or "" for all sellers: only
	// administrators may use such an endpoint.
	SellerID    string
	URL         string
	EventTypes  []string // patterns; see [PatternsOf]
	Description string
	// Ordered keeps order within an aggregate: each event waits for the one before.
	Ordered bool
	// NewSecret is the secret that Save stores, or "" to keep the present one. An existing
	// endpoint's present secret signs as well until PreviousUntil.
	NewSecret     string
	PreviousUntil time.Time
	// FailingSince is when the first attempt failed since the last success.
	FailingSince time.Time
	// DisabledAt is when deliveries began to wait, or zero.
	DisabledAt     time.Time
	DisabledReason Reason
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Reason says why an endpoint is disabled.
type Reason string

// The reasons.
const (
	DisabledByRequest Reason = "disabled by request"
	DisabledGone      Reason = "answered 410 Gone"
	DisabledFailing   Reason = "failed for five days"
)

// Owners returns the seller. An endpoint for all sellers has no owner, so that only the
// admin override reaches it, even if the administrator who made it is a seller now.
func (e *Endpoint) Owners() core.Owners { return core.Owners{Seller: e.SellerID} }

func (e *Endpoint) disable(reason Reason, now time.Time) {
	if e.DisabledAt.IsZero() {
		e.DisabledAt, e.DisabledReason = now, reason
	}
}

// failsFor is how long an endpoint may fail before it is disabled. It is shorter than
// deliveries are kept, so that those which wait survive the pause.
const failsFor = 5 * 24 * time.Hour

// note records an attempt, which may disable the endpoint.
func (e *Endpoint) note(o Outcome, now time.Time) {
	switch {
	case o.Failure == "":
		e.FailingSince = time.Time{}
	case o.Status == 410: // the receiver wants no more events
		e.disable(DisabledGone, now)
	case e.FailingSince.IsZero():
		e.FailingSince = now
	case now.Sub(e.FailingSince) >= failsFor:
		e.disable(DisabledFailing, now)
	}
}

// Resource names an endpoint in events and in the audit log.
func Resource(id int64) string { return "webhook_endpoint/" + strconv.FormatInt(id, 10) }

// PatternsOf returns the patterns that an event type matches: itself, its family
// ("order.*") and "*".
func PatternsOf(t core.EventType) []string {
	family, _, _ := strings.Cut(string(t), ".")
	return []string{string(t), family + ".*", "*"}
}
