package httpapi

import (
	"regexp"
	"strconv"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/core"
)

var skuPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// maxID is the largest id. Every JSON parser reads it exactly, and no database sequence
// exceeds it.
const maxID = 1<<53 - 1

func decodeOrderID(r *request) (int64, error) { return decodeID(r, "order") }

func decodePaymentID(r *request) (int64, error) { return decodeID(r, "payment") }

func decodeRefundID(r *request) (int64, error) { return decodeID(r, "refund") }

// decodeID returns a resource id from the path. Text that cannot be an id names no
// resource, so it is 404 and not 422.
func decodeID(r *request, resource string) (int64, error) {
	id, err := strconv.ParseInt(r.param(resource+"_id"), 10, 64)
	if err != nil || id < 1 || id > maxID {
		return 0, core.NotFound(resource)
	}
	return id, nil
}

func decodeSKU(r *request) (string, error) {
	sku := r.param("sku")
	if !skuPattern.MatchString(sku) {
		return "", core.InvalidField("/sku", "sku must be 1–64 characters of A-Z a-z 0-9 . _ -")
	}
	if cardnumber.InMember("sku", sku) {
		return "", core.InvalidField("/sku", cardnumber.Refused)
	}
	return sku, nil
}

func decodeCustomerID(r *request) (string, error) {
	id := r.param("customer_id")
	return id, checkCustomerID(id)
}

func checkCustomerID(id string) error {
	if !token.IsSubject(id) {
		return core.InvalidField("/customer_id", "customer_id must be 1–255 printable ASCII characters")
	}
	return nil
}
