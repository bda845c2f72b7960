package cards

import (
	"slices"
	"time"

	"example.com/orders/internal/core"
)

// DisputeStatus is a step of a dispute, as the provider names it. A warning is an inquiry:
// the bank asks, and has taken no money.
type DisputeStatus string

// The statuses.
const (
	InquiryNeedsResponse DisputeStatus = "warning_needs_response"
	InquiryUnderReview   DisputeStatus = "warning_under_review"
	InquiryClosed        DisputeStatus = "warning_closed"
	DisputeNeedsResponse DisputeStatus = "needs_response"
	DisputeUnderReview   DisputeStatus = "under_review"
	DisputePrevented     DisputeStatus = "prevented"
	DisputeWon           DisputeStatus = "won"
	DisputeLost          DisputeStatus = "lost"
)

// disputeSteps is the order in which a dispute takes the statuses. It may skip some. A
// report with an earlier one is late.
var disputeSteps = []DisputeStatus{
	InquiryNeedsResponse, InquiryUnderReview, InquiryClosed,
	DisputeNeedsResponse, DisputeUnderReview, DisputePrevented, DisputeWon, DisputeLost,
}

// IsKnown reports whether this is one of the statuses.
func (s DisputeStatus) IsKnown() bool { return slices.Contains(disputeSteps, s) }

// IsOpen reports whether the bank has not decided yet.
func (s DisputeStatus) IsOpen() bool {
	return slices.Contains([]DisputeStatus{InquiryNeedsResponse, InquiryUnderReview, DisputeNeedsResponse, DisputeUnderReview}, s)
}

func (s DisputeStatus) isDecision() bool { return s.IsKnown() && !s.IsOpen() }

// Dispute is a bank's demand to take the money of a charge back.
type Dispute struct {
	// ID is the provider's.
	ID     string
	Amount core.Money
	// Reason is a short code.
	Reason string
	Status DisputeStatus
	// DueBy is when the provider needs an answer, or zero.
	DueBy time.Time
	// CreatedAt is when the dispute began, by the provider's clock.
	CreatedAt time.Time
}

// follow takes over a report, unless it is late, and reports whether that changed the
// dispute. A bank that changes a decision moves money: another decision in a report that
// has moved no money is late.
func (d *Dispute) follow(reported Dispute, moved bool) bool {
	same := d.Amount.Equal(reported.Amount) && d.Reason == reported.Reason && d.DueBy.Equal(reported.DueBy)
	before, after := slices.Index(disputeSteps, d.Status), slices.Index(disputeSteps, reported.Status)
	late := after < before
	if after != before && d.Status.isDecision() && reported.Status.isDecision() {
		late = !moved
	}
	if late || after == before && same {
		return false
	}
	*d = reported
	return true
}

// Disputes are those of one charge.
type Disputes []*Dispute

// Follow takes over a report about one of the disputes, or adds a new one. Moved says that
// the report has money that was unknown. It returns the dispute and the status before, or
// nil if the report changes nothing.
func (all *Disputes) Follow(reported Dispute, moved bool) (d *Dispute, before DisputeStatus) {
	i := slices.IndexFunc(*all, func(d *Dispute) bool { return d.ID == reported.ID })
	if i < 0 {
		i = 0
		*all = slices.Insert(*all, i, &Dispute{})
	}
	d = (*all)[i]
	before = d.Status
	if !d.follow(reported, moved) {
		return nil, before
	}
	return d, before
}

// Shown returns the dispute to show, or nil: one that is open, or else the latest.
func (all Disputes) Shown() *Dispute {
	var shown *Dispute
	for _, d := range all {
		isOpen := shown != nil && shown.Status.IsOpen()
		if shown == nil || d.Status.IsOpen() && !isOpen || d.Status.IsOpen() == isOpen && d.CreatedAt.After(shown.CreatedAt) {
			shown = d
		}
	}
	return shown
}

// DisputeReport is a dispute as the provider reports it.
type DisputeReport struct {
	Dispute
	// Charge is the provider's charge id, and Payment our key there, if the provider says
	// it.
	Charge  string
	Payment string
	Funds   []DisputedFunds
}

// DisputedFunds is money that a dispute moved: the disputed amount, or a fee.
type DisputedFunds struct {
	// ExternalID is the id of the provider's transaction, which moves an amount and a fee
	// at most once each.
	ExternalID string
	Amount     core.Money
	Fee        bool
	// Returned reports that the money came back.
	Returned bool
}
