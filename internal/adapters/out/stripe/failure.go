package stripe

import (
	"errors"
	"slices"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

// Our values of a payment's failure, in addition to Stripe's decline codes.
const (
	unknownCard     = "unknown_card"
	unusableCard    = "unusable_card"
	chargeCancelled = "cancelled"
)

// declineCodes are the codes that are values themselves. The contract lists all values,
// and callers branch on them, so a code that Stripe adds is unknown until it is here.
var declineCodes = []string{
	"approve_with_id", "authentication_required", "call_issuer",
	"card_decline_rate_limit_exceeded", "card_not_supported", "card_velocity_exceeded",
	"currency_not_supported", "do_not_honor", "do_not_try_again", "duplicate_transaction",
	"expired_card", "fraudulent", "generic_decline", "incorrect_address", "incorrect_cvc",
	"incorrect_number", "incorrect_pin", "incorrect_zip", "insufficient_funds",
	"invalid_account", "invalid_amount", "invalid_cvc", "invalid_expiry_month",
	"invalid_expiry_year", "invalid_number", "invalid_pin", "issuer_not_available",
	"lost_card", "merchant_blacklist", "new_account_information_available", "no_action_taken",
	"not_permitted", "offline_pin_required", "online_or_offline_pin_required", "pickup_card",
	"pin_try_exceeded", "processing_error", "reenter_transaction", "restricted_card",
	"revocation_of_all_authorizations", "revocation_of_authorization", "security_violation",
	"service_not_allowed", "stolen_card", "stop_payment_order", "testmode_decline",
	"transaction_not_allowed", "try_again_later", "withdrawal_count_limit_exceeded",
}

// failures maps Stripe's other codes of a refused charge to values: error codes, error
// types, cancellation reasons and statuses.
var failures = map[string]string{
	string(api.ErrorCodeResourceMissing): unknownCard,

	string(api.ErrorCodeInvalidCardType):                        unusableCard,
	string(api.ErrorCodePaymentIntentIncompatiblePaymentMethod): unusableCard,
	string(api.ErrorCodePaymentMethodCurrencyMismatch):          unusableCard,
	string(api.ErrorCodePaymentMethodInvalidParameter):          unusableCard,
	string(api.ErrorCodePaymentMethodInvalidParameterTestmode):  unusableCard,
	string(api.ErrorCodePaymentMethodNotAvailable):              unusableCard,
	string(api.ErrorCodePaymentMethodUnactivated):               unusableCard,
	string(api.ErrorCodePaymentMethodUnexpectedState):           unusableCard,
	string(api.ErrorCodePaymentMethodUnsupportedType):           unusableCard,

	string(api.ErrorCodeAmountTooLarge):      unsupportedAmount,
	string(api.ErrorCodeAmountTooSmall):      unsupportedAmount,
	string(api.ErrorCodeInvalidChargeAmount): unsupportedAmount,

	string(api.ErrorCodePaymentIntentActionRequired):        string(api.DeclineCodeAuthenticationRequired),
	string(api.ErrorCodePaymentIntentAuthenticationFailure): string(api.DeclineCodeAuthenticationRequired),
	string(api.PaymentIntentStatusRequiresAction):           string(api.DeclineCodeAuthenticationRequired),

	string(api.ErrorCodeCardDeclined): string(api.DeclineCodeGenericDecline),
	string(api.ErrorTypeCard):         string(api.DeclineCodeGenericDecline),

	string(api.PaymentIntentStatusCanceled):                        chargeCancelled,
	string(api.PaymentIntentCancellationReasonAbandoned):           chargeCancelled,
	string(api.PaymentIntentCancellationReasonAutomatic):           chargeCancelled,
	string(api.PaymentIntentCancellationReasonDuplicate):           chargeCancelled,
	string(api.PaymentIntentCancellationReasonExpired):             chargeCancelled,
	string(api.PaymentIntentCancellationReasonFailedInvoice):       chargeCancelled,
	string(api.PaymentIntentCancellationReasonRequestedByCustomer): chargeCancelled,
	string(api.PaymentIntentCancellationReasonVoidInvoice):         chargeCancelled,
}

// failureOf returns the value for the first code that has one. Callers pass the most
// specific code first.
func failureOf(codes ...string) string {
	for _, code := range codes {
		if slices.Contains(declineCodes, code) {
			return code
		}
		if failure, known := failures[code]; known {
			return failure
		}
	}
	return cards.UnknownReason
}

// failureOfError returns the value for an error of Stripe.
func failureOfError(err error) string {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return failureOf(string(failure.DeclineCode), string(failure.Code), string(failure.Type))
	}
	return cards.UnknownReason
}
