package stripe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"syscall"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

// class is the meaning of a failed call.
type class struct {
	// refused: no money moved, and a further call would not change that. Otherwise the
	// outcome is unknown.
	refused bool
	// retryable: a further attempt with the same key may succeed at once.
	retryable bool
	// outage: Stripe or the network is in trouble. The breaker counts it.
	outage bool
}

// classify is the only place that interprets Stripe errors.
func classify(err error) class {
	failure, responded := errors.AsType[*api.Error](err)
	if errors.Is(err, errRedirected) { // a retry would be redirected again
		return class{outage: true}
	}
	if !responded { // timeout, connection, incomplete response
		return class{retryable: true, outage: !errors.Is(err, context.Canceled)}
	}
	switch status := failure.HTTPStatusCode; {
	case failure.Type == api.ErrorTypeCard: // 402: declined
		return class{refused: true}
	case failure.Type == api.ErrorTypeIdempotency && status != http.StatusConflict: // our key, other parameters
		return class{}
	case status == http.StatusBadRequest, status == http.StatusNotFound: // such as an unknown payment method
		return class{refused: true}
	case status == http.StatusConflict: // the first call with this key still runs
		return class{retryable: true}
	case status == http.StatusTooManyRequests:
		return class{retryable: true, outage: true}
	case status == http.StatusInternalServerError: // stored under the key, so a retry would get it again
		return class{outage: true}
	case status > http.StatusInternalServerError: // sent before Stripe looked at the key
		return class{retryable: true, outage: true}
	default: // such as 401 and 403: an operator has to act, and the payment waits
		return class{}
	}
}

// outcomeOf names a request's outcome for metrics.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case classify(err).refused:
		return "declined"
	}
	return "failed"
}

// refusedAs returns the result of a request refused before Stripe stored anything, with
// the request's terms.
func refusedAs(terms cards.Terms, reason string) cards.ChargeResult {
	return cards.ChargeResult{Terms: terms, Outcome: cards.ChargeRefused, Reason: reason}
}

// refusalCode returns the code of a refused error.
func refusalCode(err error) string {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return failureCode(failure)
	}
	return ""
}

// failureCode returns the most specific code. It omits the message, which may contain
// personal data.
func failureCode(failure *api.Error) string {
	return cmp.Or(string(failure.DeclineCode), string(failure.Code), string(failure.Type))
}

// unknownOutcome returns the error for an unknown outcome. It is logged and stored in a
// job's row, so it uses our words. The original contains the URL, addresses, and
// response parts that may include a client secret or customer input.
func unknownOutcome(action string, err error) error {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return fmt.Errorf("stripe: %s: status %d, %s, request %s",
			action, failure.HTTPStatusCode, plain(failureCode(failure)), plain(failure.RequestID))
	}
	for _, harmless := range []error{
		timeout.ErrExceeded, circuitbreaker.ErrOpen, context.Canceled, context.DeadlineExceeded, errRedirected,
	} {
		if errors.Is(err, harmless) {
			return fmt.Errorf("stripe: %s: %w", action, harmless)
		}
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("stripe: %s: no connection: %s", action, connectionFailure(err))
	}
	return fmt.Errorf("stripe: %s: unreadable response", action)
}

// connectionFailure explains a missing connection, without addresses.
func connectionFailure(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error() // such as "connection refused"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the name of the host cannot be resolved"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate is not trusted"
	}
	return "the request failed"
}

var plainText = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// plain returns text if it looks like an id or a code.
func plain(text string) string {
	if plainText.MatchString(text) {
		return text
	}
	return "(unreadable)"
}

// The meaning of Stripe's statuses. Any other status decides nothing.
var (
	intentOutcomes = map[api.PaymentIntentStatus]cards.ChargeOutcome{
		api.PaymentIntentStatusSucceeded:  cards.ChargeSucceeded,
		api.PaymentIntentStatusProcessing: cards.ChargePending,
		api.PaymentIntentStatusCanceled:   cards.ChargeRefused,
		// These wait for an action that never comes: the customer has left, and capture
		// is automatic. They count as refused once an action is impossible; see
		// [mayStillCapture].
		api.PaymentIntentStatusRequiresPaymentMethod: cards.ChargeRefused,
		api.PaymentIntentStatusRequiresAction:        cards.ChargeRefused,
		api.PaymentIntentStatusRequiresConfirmation:  cards.ChargeRefused,
		api.PaymentIntentStatusRequiresCapture:       cards.ChargeRefused,
	}

	refundOutcomes = map[api.RefundStatus]cards.ChargeOutcome{
		api.RefundStatusSucceeded: cards.ChargeSucceeded,
		api.RefundStatusPending:   cards.ChargePending,
		// Does not happen with cards: Stripe asks the customer by e-mail where to send
		// the money.
		api.RefundStatusRequiresAction: cards.ChargePending,
		api.RefundStatusFailed:         cards.ChargeRefused,
		api.RefundStatusCanceled:       cards.ChargeRefused,
	}
)

// mayStillCapture reports whether an action could still make an intent capture money.
// After a decline an intent needs a new card, which only we could supply and never
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
