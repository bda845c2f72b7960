package cards

import (
	"fmt"
	"regexp"
)

// A result counts only if it matches our request. Provider responses and events pass
// the same checks: a signature proves who sent an event, not that it is about our
// payment.

var (
	plainID   = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	shortCode = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
)

// UnknownReason is the reason of a refusal with an unknown or unreadable code.
const UnknownReason = "unknown_reason"

// Code returns the reason as a short code, which the API and events can carry.
func (r ChargeResult) Code() string { return ShortCode(r.Reason) }

// ShortCode returns a code of the provider, which the API and events can carry.
func ShortCode(code string) string {
	if code == "" || shortCode.MatchString(code) {
		return code
	}
	return UnknownReason
}

// Difference describes how a result differs from these terms, or returns "".
func (t Terms) Difference(r ChargeResult) string {
	switch {
	case r.Payment != t.Payment || r.Refund != t.Refund:
		return fmt.Sprintf("the provider names %.80q and %.80q", r.Payment, r.Refund)
	case r.OrderID != t.OrderID:
		return fmt.Sprintf("order %d here, and order %d at the provider", t.OrderID, r.OrderID)
	case !r.Amount.Equal(t.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", t.Amount, r.Amount)
	case r.ExternalID == "" && r.Outcome == ChargeRefused:
		return "" // refused before the provider stored anything
	case !IsPlainID(r.ExternalID):
		return "the provider's id is not 1–255 printable ASCII characters"
	}
	return ""
}

// IsPlainID reports whether an id of the provider is 1–255 printable ASCII characters.
func IsPlainID(id string) bool { return plainID.MatchString(id) }
