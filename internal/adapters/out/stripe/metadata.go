package stripe

import (
	"strconv"

	"example.com/orders/internal/core/payment"
)

// Stripe metadata keys. A charge without them is not ours.
const (
	metaPayment = "orders_payment" // payment key
	metaRefund  = "orders_refund"  // refund key
	metaOrder   = "order_id"

	// These help people who look at a charge. Nothing depends on them, because another
	// database may use the same ids.
	metaPaymentID = "payment_id"
	metaRefundID  = "refund_id"
)

// isOurs reports whether metadata marks a charge by this service.
func isOurs(metadata map[string]string) bool {
	return metadata[metaPayment] != "" || metadata[metaPaymentID] != ""
}

// termsOf returns the terms stored by Stripe. The order is 0 if the metadata names
// none.
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
