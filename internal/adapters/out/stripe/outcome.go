package stripe

import (
	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment"
)

// The meaning of Stripe's statuses. Any other status has an unknown outcome.
var (
	intentOutcomes = map[api.PaymentIntentStatus]payment.ChargeOutcome{
		api.PaymentIntentStatusSucceeded:  payment.ChargeSucceeded,
		api.PaymentIntentStatusProcessing: payment.ChargePending,
		api.PaymentIntentStatusCanceled:   payment.ChargeRefused,
		// These wait for an action that never comes: the customer has left, and capture
		// is automatic. They count as refused once an action is impossible; see
		// [mayStillCapture].
		api.PaymentIntentStatusRequiresPaymentMethod: payment.ChargeRefused,
		api.PaymentIntentStatusRequiresAction:        payment.ChargeRefused,
		api.PaymentIntentStatusRequiresConfirmation:  payment.ChargeRefused,
		api.PaymentIntentStatusRequiresCapture:       payment.ChargeRefused,
	}

	refundOutcomes = map[api.RefundStatus]payment.ChargeOutcome{
		api.RefundStatusSucceeded: payment.ChargeSucceeded,
		api.RefundStatusPending:   payment.ChargePending,
		// Does not happen with cards: Stripe asks the customer by e-mail where to send
		// the money.
		api.RefundStatusRequiresAction: payment.ChargePending,
		api.RefundStatusFailed:         payment.ChargeRefused,
		api.RefundStatusCanceled:       payment.ChargeRefused,
	}
)

// mayStillCapture reports whether an action could still make an intent capture money.
// After a decline an intent needs another card, which only we could supply and never
// do.
func mayStillCapture(intent *api.PaymentIntent) bool {
	switch intent.Status {
	case api.PaymentIntentStatusRequiresPaymentMethod:
		return intent.LastPaymentError == nil
	case api.PaymentIntentStatusRequiresAction,
		api.PaymentIntentStatusRequiresConfirmation,
		api.PaymentIntentStatusRequiresCapture:
		return true
	default:
		return false
	}
}
