package stripe

import (
	"strconv"

	"example.com/orders/internal/core/payment"
)

// The keys of Stripe's metadata. A charge that has none of them is not ours.
const (
	metaPayment = "orders_payment" // the key of our payment
	metaRefund  = "orders_refund"  // the key of our refund
	metaOrder   = "order_id"

	// For people who look at the charge. Nothing depends on them, because another
	// database may use the same ids.
	metaPaymentID = "payment_id"
	metaRefundID  = "refund_id"
)

// isOurs reports whether metadata is that of a charge of this service.
func isOurs(metadata map[string]string) bool {
	return metadata[metaPayment] != "" || metadata[metaPaymentID] != ""
}

// termsOf returns the terms of a charge or a refund that Stripe has stored. The order
// is 0 when the metadata names none.
func termsOf(metadata map[string]string, amount int64, currency string) (payment.Terms, error) {
	money, err := moneyOf(amount, currency)
	if err != nil {
		return payment.Terms{}, err
	}
	orderID, _ := strconv.ParseInt(metadata[metaOrder], 10, 64)
	return payment.Terms{
		Payment: metadata[metaPayment], Refund: metadata[metaRefund], OrderID: orderID, Amount: money,
	}, nil
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
