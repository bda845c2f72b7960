package stripe

import (
	"maps"
	"slices"

	"example.com/orders/internal/core/payment"
)

// Failures returns the values of a payment's failure, sorted.
func Failures() []string {
	values := slices.Concat(declineCodes, slices.Collect(maps.Values(failures)), []string{payment.UnknownReason})
	slices.Sort(values)
	return slices.Compact(values)
}
