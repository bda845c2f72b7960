package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment"
)

// What Stripe's statuses mean. One that is not here is an error: nobody knows.
var (
	intentOutcomes = map[api.PaymentIntentStatus]payment.ChargeOutcome{
		api.PaymentIntentStatusSucceeded:  payment.ChargeSucceeded,
		api.PaymentIntentStatusProcessing: payment.ChargePending,
		api.PaymentIntentStatusCanceled:   payment.ChargeRefused,
		// The rest wait for somebody, and nobody is there: the customer has left, and capture is automatic. They count
		// as refused, once it is certain that they stay so; see [waits].
		api.PaymentIntentStatusRequiresPaymentMethod: payment.ChargeRefused,
		api.PaymentIntentStatusRequiresAction:        payment.ChargeRefused,
		api.PaymentIntentStatusRequiresConfirmation:  payment.ChargeRefused,
		api.PaymentIntentStatusRequiresCapture:       payment.ChargeRefused,
	}

	refundOutcomes = map[api.RefundStatus]payment.ChargeOutcome{
		api.RefundStatusSucceeded: payment.ChargeSucceeded,
		api.RefundStatusPending:   payment.ChargePending,
		// Never so for cards. Stripe asks the customer by mail where the money shall go.
		api.RefundStatusRequiresAction: payment.ChargePending,
		api.RefundStatusFailed:         payment.ChargeRefused,
		api.RefundStatusCanceled:       payment.ChargeRefused,
	}
)

// waits tells whether an intent might still capture money if somebody acted. One whose card was declined needs another
// card, which only we could give, and do not.
func waits(intent *api.PaymentIntent) bool {
	switch intent.Status {
	case api.PaymentIntentStatusRequiresPaymentMethod:
		return intent.LastPaymentError == nil
	case api.PaymentIntentStatusRequiresAction, api.PaymentIntentStatusRequiresConfirmation, api.PaymentIntentStatusRequiresCapture:
		return true
	default:
		return false
	}
}

// verdict is what to make of a call that failed.
type verdict struct {
	// refused: it is certain that no money moved, and that asking again would not change it. If false, nobody knows.
	refused bool
	// repeat: another try with the same key may bring an answer at once.
	repeat bool
	// sick: Stripe, or the way to it, is in trouble; the breaker counts it.
	sick bool
}

// judge is the one table of errors.
func judge(err error) verdict {
	failure, answered := errors.AsType[*api.Error](err)
	if !answered { // time-out, connection, half an answer
		return verdict{repeat: true, sick: !errors.Is(err, context.Canceled)}
	}
	switch status := failure.HTTPStatusCode; {
	case failure.Type == api.ErrorTypeCard: // 402: declined
		return verdict{refused: true}
	case failure.Type == api.ErrorTypeIdempotency && status != http.StatusConflict: // our key with other parameters
		return verdict{}
	case status == http.StatusBadRequest, status == http.StatusNotFound: // such as an unknown payment method
		return verdict{refused: true}
	case status == http.StatusConflict: // the first call with this key is still running
		return verdict{repeat: true}
	case status == http.StatusTooManyRequests:
		return verdict{repeat: true, sick: true}
	case status == http.StatusInternalServerError: // kept under the key: another try would read it again
		return verdict{sick: true}
	case status > http.StatusInternalServerError: // from before the keys are looked at
		return verdict{repeat: true, sick: true}
	default: // 401 and 403 among them: an operator has to act, the payment waits
		return verdict{}
	}
}

// refusal is the result for an error that judge calls refused.
func refusal(err error) payment.ChargeResult {
	result := payment.ChargeResult{Outcome: payment.ChargeRefused}
	if failure, ok := errors.AsType[*api.Error](err); ok {
		result.Reason = failureCode(failure)
	}
	return result
}

// failureCode is the most telling code. The message is left out: it is for people, and may tell too much.
func failureCode(failure *api.Error) string {
	return cmp.Or(string(failure.DeclineCode), string(failure.Code), string(failure.Type))
}

// unknown makes the error of a call of which nobody knows what it did. It tells codes, and of what was not expected
// nothing at all: the library quotes answers, and they may hold a client secret or what a customer has entered.
func unknown(doing string, err error) error {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return fmt.Errorf("stripe: %s: status %d, %s, request %q", doing, failure.HTTPStatusCode, failureCode(failure), failure.RequestID)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("stripe: %s: %w", doing, err)
	}
	for _, harmless := range []error{timeout.ErrExceeded, circuitbreaker.ErrOpen, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, harmless) {
			return fmt.Errorf("stripe: %s: %w", doing, harmless)
		}
	}
	return fmt.Errorf("stripe: %s: the answer cannot be read", doing)
}
