package events

import (
	"cmp"
	"encoding/json"
	"regexp"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/core/order"
)

const (
	// source is the name under which the ids of processed messages are stored.
	source = "warehouse"
	// maxQuantity keeps the sum of any plausible number of messages in range.
	maxQuantity = 1_000_000_000
)

// restocked is the message of the warehouse; api/asyncapi.yaml describes it.
type restocked struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

var (
	validID  = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	validSKU = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// decode parses a message. It ignores unknown members, because later versions may add
// some.
func decode(msg jetstream.Msg) (order.Restock, error) {
	var m restocked
	if json.Unmarshal(msg.Data(), &m) != nil {
		return order.Restock{}, unreadable("the message must be a JSON object with id, sku and quantity")
	}
	m.ID = cmp.Or(m.ID, msg.Headers().Get(jetstream.MsgIDHeader))
	switch {
	case !validID.MatchString(m.ID):
		return order.Restock{}, unreadable("id must be 1 to 255 printable ASCII characters without spaces")
	case !validSKU.MatchString(m.SKU):
		return order.Restock{}, unreadable("sku must be 1 to 64 letters, digits, dots, underscores or hyphens")
	case m.Quantity > maxQuantity:
		return order.Restock{}, unreadable("quantity must be at most 1000000000")
	}
	return order.Restock{SKU: m.SKU, Quantity: m.Quantity, Source: source, MessageID: m.ID}, nil
}
