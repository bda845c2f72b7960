package stripe

import (
	"maps"
	"slices"

	"example.com/orders/internal/core/payment/cards"
)

// Failures returns the values of a payment's failure, sorted.
func Failures() []string {
	values := slices.Concat(declineCodes, slices.Collect(maps.Values(failures)), []string{cards.UnknownReason})
	slices.Sort(values)
	return slices.Compact(values)
}
