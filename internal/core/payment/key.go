package payment

import (
	"regexp"
	"strings"
)

// The keys under which the card provider knows payments and refunds contain the UUID of
// a row and not its id: a database that is restored to an earlier moment gives the same
// ids to other rows, and the provider remembers the keys.
const (
	paymentKeys = "payment-"
	refundKeys  = "refund-"
)

// Key returns the idempotency key of the payment's charge at the provider. It is the
// same for every attempt, so the provider charges a payment at most once.
func (p *Payment) Key() string { return paymentKeys + p.UUID }

// Key returns the idempotency key of the refund at the provider. It is the same for
// every attempt, so the provider refunds at most once.
func (r *Refund) Key() string { return refundKeys + r.UUID }

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// uuidIn returns the UUID in a key of this kind, and reports whether the key is one.
func uuidIn(key, kind string) (string, bool) {
	uuid, ok := strings.CutPrefix(key, kind)
	return uuid, ok && uuidForm.MatchString(uuid)
}
