package events_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"

	contracttest "example.com/orders/internal/test/contract"
)

// limitBodies are messages at the limits of the schema. It allows the first three.
var limitBodies = []string{
	restocked("a", oneTea),
	restockedBy("/", "~", `"sku":"cup","quantity":1000000000`),
	strings.Replace(restocked("b", oneTea+`,"more":[]`), `"data"`, `"datacontenttype":"application/json","bay":7,"data"`, 1),

	restocked("c", `"sku":"tea","quantity":0`),
	restocked("d", `"sku":"tea","quantity":1000000001`),
	restocked("e", `"sku":"tea","quantity":"1"`),
	restocked("f g", oneTea),
	restockedBy("/a b", "h", oneTea),
	restockedBy("", "i", oneTea),
	restocked("j", `"sku":"t/a","quantity":1`),
	restocked("k", `"sku":"","quantity":1`),
	restocked("l", `"quantity":1`),
	restocked("m", `"sku":"tea"`),
	`{"specversion":"1.0","id":7,"source":"/","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`,
	`{"specversion":"1.0","source":"/","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`,
	`{"specversion":"1.0","id":"n","source":"/","type":"inventory.restocked"}`,
	`{"specversion":"1.0","id":"o","source":"/","data":{"sku":"tea","quantity":1}}`,
	`{"specversion":"2.0","id":"p","source":"/","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`,
	`{"id":"q","source":"/","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`,
	`[]`,
	`null`,
}

// The consumer processes what the schema allows and dead-letters the other messages, with
// the headers that api/asyncapi.yaml names.
func TestConsumer_ProcessesWhatAsyncAPIAllows(t *testing.T) {
	t.Parallel()
	message := contracttest.MessageSchema(t, "InventoryRestocked")
	headers := contracttest.MessageSchema(t, "DeadLetterHeaders")
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	s.addProduct(t, "cup")
	w.startReplica(t, s.restock, usualAckWait)
	var allowed []string
	for i, body := range limitBodies {
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
	s.wantOnHand(t, "tea", 2)
	s.wantOnHand(t, "cup", 1_000_000_000)
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
	if want := len(limitBodies) - len(allowed); len(letters) != want {
		t.Errorf("%d dead letters, want %d", len(letters), want)
	}
}
