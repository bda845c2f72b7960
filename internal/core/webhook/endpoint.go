package webhook

import (
	"fmt"
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
	// SellerID is the seller whose events the endpoint receives, or "" for the events of
	// all sellers: only administrators may use such an endpoint.
	SellerID    string
	URL         string
	EventTypes  []string // patterns; see [PatternsOf]
	Description string
	// Ordered keeps the events of an aggregate in order: each waits for the one before.
	Ordered bool
	// NewSecret is the secret that Save stores, or "" to keep the present one. An existing
	// endpoint's present secret signs as well until PreviousUntil.
	NewSecret     string
	PreviousUntil time.Time
	// FailingSince is the time of the first failed attempt since the last success.
	FailingSince   time.Time
	DisabledAt     time.Time
	DisabledReason Reason
	CreatedAt      time.Time
	UpdatedAt      time.Time
	// New reports that the endpoint is not stored yet: Save inserts it and sets ID.
	New bool
}

// Reason tells why an endpoint is disabled.
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

// Disable pauses the endpoint: deliveries wait until [Endpoint.Enable].
func (e *Endpoint) Disable(reason Reason, now time.Time) {
	if e.DisabledAt.IsZero() {
		e.DisabledAt, e.DisabledReason = now, reason
	}
}

// Enable lets the waiting deliveries go. The failures before count no longer.
func (e *Endpoint) Enable() {
	e.DisabledAt, e.DisabledReason, e.FailingSince = time.Time{}, "", time.Time{}
}

// note records an attempt, which may disable the endpoint.
func (e *Endpoint) note(o Outcome, now time.Time) {
	switch {
	case o.Failure == "":
		e.FailingSince = time.Time{}
	case o.Status == statusGone:
		e.Disable(DisabledGone, now)
	case e.FailingSince.IsZero():
		e.FailingSince = now
	case now.Sub(e.FailingSince) >= failsFor:
		e.Disable(DisabledFailing, now)
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

// refuseSecond refuses a URL that one of the owner's other endpoints has.
func (e *Endpoint) refuseSecond(existing []*Endpoint) error {
	for _, other := range existing {
		if other.URL == e.URL && other.ID != e.ID {
			return core.Refuse(core.CodeWebhookEndpointExists, fmt.Sprintf("webhook endpoint %d has this URL", other.ID))
		}
	}
	return nil
}
