package events

import (
	"encoding/json"
	"regexp"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/core/order"
)

const (
	// restockedType is the type of the events of the warehouse.
	restockedType = "inventory.restocked"
	// maxQuantity keeps the sum of any plausible number of messages in range.
	maxQuantity = 1_000_000_000
)

// restocked is an event of the warehouse in a CloudEvents envelope; api/asyncapi.yaml
// describes it.
type restocked struct {
	SpecVersion string `json:"specversion"`
	ID          string `json:"id"`
	Source      string `json:"source"`
	Type        string `json:"type"`
	Data        struct {
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
	} `json:"data"`
}

var (
	validName = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	validSKU  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// decode parses a message. It ignores unknown members, because an envelope may have
// extensions, and later versions of the data more members.
func decode(msg jetstream.Msg) (order.Restock, error) {
	var e restocked
	if json.Unmarshal(msg.Data(), &e) != nil {
		return order.Restock{}, unreadable("the message must be a CloudEvents envelope in JSON, with sku and quantity in its data")
	}
	switch {
	case e.SpecVersion != "1.0":
		return order.Restock{}, unreadable(`specversion must be "1.0"`)
	case e.Type != restockedType:
		return order.Restock{}, unreadable("type must be " + restockedType)
	case !validName.MatchString(e.ID):
		return order.Restock{}, unreadable("id must be 1 to 255 printable ASCII characters without spaces")
	case !validName.MatchString(e.Source):
		return order.Restock{}, unreadable("source must be 1 to 255 printable ASCII characters without spaces")
	case !validSKU.MatchString(e.Data.SKU):
		return order.Restock{}, unreadable("sku must be 1 to 64 letters, digits, dots, underscores or hyphens")
	case e.Data.Quantity > maxQuantity:
		return order.Restock{}, unreadable("quantity must be at most 1000000000")
	}
	return order.Restock{
		SKU: e.Data.SKU, Quantity: e.Data.Quantity, Source: inboxSource(e.Source), MessageID: e.ID,
	}, nil
}

// inboxSource returns the name under which the ids of a sender are stored. The prefix
// keeps them apart from those that arrive in another way, such as webhooks: the sender
// chooses its source.
func inboxSource(source string) string { return "events " + source }
