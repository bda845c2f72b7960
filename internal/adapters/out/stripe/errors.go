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
	if errors.Is(err, errRedirected) { // another call would be redirected, too
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

// outcomeOf names what became of a request.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case classify(err).refused:
		return "declined"
	}
	return "failed"
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

// unknownOutcome returns the error of a call whose outcome is unknown. It is stored in
// the row of a job and logged, so it says what happened in our words. The original has
// the URL of the call, addresses, and parts of responses, which may contain a client
// secret or what a customer has entered.
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

// connectionFailure says why there is no connection, without any address.
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

// plain returns an id or a code of a response, if it looks like one.
func plain(text string) string {
	if plainText.MatchString(text) {
		return text
	}
	return "(unreadable)"
}
