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

// class is what a failed call means.
type class struct {
	// refused: no money moved, and another call would not change that. If it is false,
	// the outcome is unknown.
	refused bool
	// retryable: another attempt with the same key may succeed at once.
	retryable bool
	// outage: Stripe or the way to it is in trouble. The breaker counts it.
	outage bool
}

// classify is the only place that interprets errors of Stripe.
func classify(err error) class {
	failure, responded := errors.AsType[*api.Error](err)
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

// refusedAs returns the result of a request that was refused before Stripe stored
// anything. It has the terms of the request.
func refusedAs(terms payment.Terms, reason string) payment.ChargeResult {
	return payment.ChargeResult{Terms: terms, Outcome: payment.ChargeRefused, Reason: reason}
}

// refusalCode returns the code of an error that is classified as refused.
func refusalCode(err error) string {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return failureCode(failure)
	}
	return ""
}

// failureCode returns the most specific code. It leaves out the message, which is for
// people and may contain personal data.
func failureCode(failure *api.Error) string {
	return cmp.Or(string(failure.DeclineCode), string(failure.Code), string(failure.Type))
}

// unknownOutcome returns the error of a call whose outcome is unknown. It contains
// codes only, and nothing of an error that we did not expect: the library quotes
// responses, and they may contain a client secret or what a customer has entered.
func unknownOutcome(action string, err error) error {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return fmt.Errorf("stripe: %s: status %d, %s, request %q",
			action, failure.HTTPStatusCode, failureCode(failure), failure.RequestID)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("stripe: %s: %w", action, err)
	}
	for _, harmless := range []error{
		timeout.ErrExceeded, circuitbreaker.ErrOpen, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, harmless) {
			return fmt.Errorf("stripe: %s: %w", action, harmless)
		}
	}
	return fmt.Errorf("stripe: %s: unreadable response", action)
}
