package stripe

import "strconv"

// The keys of Stripe's metadata under which Stripe stores our ids. A charge without
// them is not ours.
const (
	metaPayment = "payment_id"
	metaOrder   = "order_id"
	metaRefund  = "refund_id"
)

// idIn returns one of our ids from Stripe's metadata, and reports whether there is one.
func idIn(metadata map[string]string, key string) (int64, bool) {
	id, err := strconv.ParseInt(metadata[key], 10, 64)
	return id, err == nil && id > 0
}

// hasID reports whether Stripe's metadata has this id of ours.
func hasID(metadata map[string]string, key string, id int64) bool {
	return metadata[key] == formatID(id)
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
