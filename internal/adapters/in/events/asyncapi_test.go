package events_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"

	contracttest "example.com/orders/internal/test/contract"
)

// The messages are at the limits of the schema. The consumer processes those that the
// schema allows and dead-letters the others, with the headers that api/asyncapi.yaml
// names.
func TestConsumer_ProcessesWhatAsyncAPIAllows(t *testing.T) {
	t.Parallel()
	message := contracttest.MessageSchema(t, "InventoryRestocked")
	headers := contracttest.MessageSchema(t, "DeadHeaders")
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	bodies := []string{
		`{"sku":"tea","quantity":1}`, // its id is in the header
		`{"id":"~","sku":"tea","quantity":1000000000}`,
		`{"id":"a","sku":"tea","quantity":1,"more":[]}`,

		`{"id":"b","sku":"tea","quantity":0}`,
		`{"id":"c","sku":"tea","quantity":1000000001}`,
		`{"id":"d","sku":"tea","quantity":"1"}`,
		`{"id":"e f","sku":"tea","quantity":1}`,
		`{"id":"g","sku":"t/a","quantity":1}`,
		`{"id":"h","sku":"","quantity":1}`,
		`{"id":"i","quantity":1}`,
		`{"id":"j","sku":"tea"}`,
		`{"id":7,"sku":"tea","quantity":1}`,
		`[]`,
		`null`,
	}
	var allowed []string
	for i, body := range bodies {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		if message.Validate(value) == nil {
			allowed = append(allowed, body)
		}
		w.send(t, body, jetstream.WithMsgID(fmt.Sprint("header-", i)))
	}
	w.awaitAllDone(t)

	if len(allowed) != 3 {
		t.Errorf("the schema allows %q, want the first three", allowed)
	}
	s.wantOnHand(t, "tea", 1_000_000_002)
	letters := w.deadLetters(t)
	for _, letter := range letters {
		values := map[string]any{}
		for name := range letter.Header {
			values[name] = letter.Header.Get(name)
		}
		if err := headers.Validate(values); err != nil {
			t.Error(err)
		}
	}
	if len(letters) != 11 {
		t.Errorf("%d dead letters, want 11", len(letters))
	}
}
