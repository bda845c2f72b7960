package events

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/strictjson"
)

const (
	restockedType = "inventory.restocked"
	// maxQuantity keeps sums over any plausible number of messages in range.
	maxQuantity = 1_000_000_000
)

// message is a warehouse message in a stream, or in a dead letter.
type message struct {
	headers  nats.Header
	data     []byte
	storedAt time.Time // by the broker
}

// restocked is a warehouse event in a CloudEvents envelope; see api/asyncapi.yaml.
type restocked struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Data        json.RawMessage `json:"data"`
	DataBase64  []byte          `json:"data_base64"`
}

// attributePrefix begins the headers of an event in binary mode.
const attributePrefix = "ce-"

var (
	validName = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	validSKU  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// readEvent reads an event in CloudEvents' binary mode, with its attributes in headers,
// or in structured mode. It ignores unknown members, because envelopes may have
// extensions.
func readEvent(m message) (e restocked, ok bool) {
	attributes, ok := attributesIn(m.headers)
	if !ok {
		return restocked{}, false
	}
	if attributes["specversion"] != "" {
		return restocked{
			SpecVersion: attributes["specversion"], ID: attributes["id"], Source: attributes["source"],
			Type: attributes["type"], Data: m.data,
		}, true
	}
	e, ok = readJSON[restocked](m.data)
	hasBoth := e.Data != nil && e.DataBase64 != nil
	if !ok || hasBoth {
		return restocked{}, false
	}
	if e.DataBase64 != nil {
		e.Data = e.DataBase64
	}
	return e, true
}

// readJSON decodes text as strictly as the HTTP adapter: member names are exact, and
// each may be sent once.
func readJSON[T any](text []byte) (v T, ok bool) {
	v, err := strictjson.Decode[T](text)
	return v, err == nil
}

// attributesIn returns the CloudEvents attributes in headers, where they are
// percent-encoded. Some clients change the case of headers. It reports whether no
// attribute is sent twice.
func attributesIn(headers nats.Header) (found map[string]string, ok bool) {
	found = map[string]string{}
	for name, values := range headers {
		attribute, isAttribute := strings.CutPrefix(strings.ToLower(name), attributePrefix)
		if !isAttribute {
			continue
		}
		if _, twice := found[attribute]; twice || len(values) != 1 {
			return nil, false
		}
		found[attribute], _ = url.PathUnescape(values[0]) // "" is refused
	}
	return found, true
}

// decode parses a message. Later versions may have more data.
func decode(m message) (order.Restock, error) {
	e, ok := readEvent(m)
	if !ok {
		return order.Restock{}, unreadable(
			"the message must be a CloudEvents envelope in JSON, or have its attributes in ce- headers, each once")
	}
	data, ok := readJSON[struct {
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
	}](e.Data)
	switch {
	case e.SpecVersion != "1.0":
		return order.Restock{}, unreadable(`specversion must be "1.0"`)
	case e.Type != restockedType:
		return order.Restock{}, unreadable("type must be " + restockedType)
	case !validName.MatchString(e.ID):
		return order.Restock{}, unreadable("id must be 1 to 255 printable ASCII characters without spaces")
	case !validName.MatchString(e.Source):
		return order.Restock{}, unreadable("source must be 1 to 255 printable ASCII characters without spaces")
	case !ok:
		return order.Restock{}, unreadable("the data must be a JSON object with sku and quantity, each once")
	case !validSKU.MatchString(data.SKU):
		return order.Restock{}, unreadable("sku must be 1 to 64 letters, digits, dots, underscores or hyphens")
	case data.Quantity > maxQuantity:
		return order.Restock{}, unreadable("quantity must be at most 1000000000")
	}
	return order.Restock{SKU: data.SKU, Quantity: data.Quantity, Message: core.Message{
		Source: inboxSource(e.Source), ID: e.ID, SentAt: m.storedAt,
	}}, nil
}

// inboxSource returns the inbox name for a sender. The prefix separates senders, who
// choose their source, from other inbox users such as webhooks.
func inboxSource(source string) string { return "events " + source }
