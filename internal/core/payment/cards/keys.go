package cards

import (
	"regexp"
	"strings"
)

// The provider keys for payments and refunds contain the UUID of the row instead of the
// id: a database restored to an earlier moment assigns the same ids to other rows, and
// the provider remembers the keys.
const (
	paymentKeys = "payment-"
	refundKeys  = "refund-"
)

// PaymentKey returns the idempotency key for charging the payment with a UUID.
func PaymentKey(uuid string) string { return paymentKeys + uuid }

// RefundKey returns the idempotency key for the refund with a UUID.
func RefundKey(uuid string) string { return refundKeys + uuid }

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func uuidIn(key, kind string) (string, bool) {
	uuid, ok := strings.CutPrefix(key, kind)
	return uuid, ok && uuidForm.MatchString(uuid)
}

// PaymentUUID returns the UUID in a payment key, and reports whether there is one.
func PaymentUUID(key string) (string, bool) { return uuidIn(key, paymentKeys) }

// RefundUUID returns the UUID in a refund key, and reports whether there is one.
func RefundUUID(key string) (string, bool) { return uuidIn(key, refundKeys) }
