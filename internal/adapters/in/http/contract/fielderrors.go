package contract

import (
	"slices"
	"strconv"
	"strings"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// maxName is the longest name that a response repeats, far longer than any in the
// contract.
const maxName = 64

const unknownMember = "is not a known member"

// isPrivate reports whether a name may be a secret or personal data: it looks like a
// token, an e-mail address or a card number. It must not be repeated.
func isPrivate(name string) bool {
	return len(name) > maxName || strings.Contains(name, "@") || cardnumber.In(name)
}

// refuse notes a rule that the value violates, or the member with a name.
func (r *reader) refuse(detail string, member ...string) {
	pointer := problem.Pointer(slices.Concat(r.path, member)...)
	r.refused = append(r.refused, wire.FieldError{Pointer: pointer, Detail: detail})
}

// requireOne refuses an object unless it has exactly one of the alternatives.
func (r *reader) requireOne(alternatives, names []string) {
	var present []string
	for _, name := range alternatives {
		if slices.Contains(names, name) {
			present = append(present, name)
		}
	}
	if len(present) > 1 {
		r.refuse("must not be sent with "+present[0], present[1])
	}
	if len(present) > 0 {
		return
	}
	for i, name := range alternatives {
		others := slices.Delete(slices.Clone(alternatives), i, i+1)
		r.refuse("is required unless "+strings.Join(others, " or ")+" is sent", name)
	}
}

// bounded notes a number of items or characters beyond a bound, if there is one.
func (r *reader) bounded(least, most *int, n int, unit string) {
	if least != nil && n < *least {
		r.refuse("must have at least " + count(*least, unit))
	}
	if most != nil && n > *most {
		r.refuse("must have at most " + count(*most, unit))
	}
}

// patternTexts says in words what the patterns of the contract require of a member.
var patternTexts = map[string]string{
	`^(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?$`: "must be at most 15 digits, a point, and at most the currency's decimals, such as 1999.00 for RUB",
	`^[A-Z]{3}$`:                            "must be an ISO 4217 currency code, such as RUB",
	`^[A-Za-z0-9._-]{1,64}$`:                "must be 1–64 characters of A-Z a-z 0-9 . _ -",
	`^[!-~]{1,255}$`:                        "must be 1–255 printable ASCII characters without spaces",
	`^[^\x00-\x1f\x7f]*$`:                   "must be a single line without control characters",
	`^pm_[A-Za-z0-9_]{1,255}$`:              "must be the ID of a Stripe payment method, such as pm_card_visa",
	`^(\*|[a-z_]+\.(\*|[a-z_]+))$`:          "must be the type of an event, such as order.paid, or a family, such as order.*, or *",
	`^\+[1-9][0-9]{6,14}$`:                  "must be a telephone number with its country code, such as +79161234567",
	`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$`: "must be an e-mail address, such as anna@example.com",
}

// count returns "1 item" or "2 items".
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
