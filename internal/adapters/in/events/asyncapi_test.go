package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"example.com/orders/api"
	pgtest "example.com/orders/internal/test/pg"
)

// contractOf gives a schema of api/asyncapi.yaml.
func contractOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(api.AsyncAPI, &doc); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(doc) // for the types that the validator expects
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7) // what AsyncAPI's own schemas extend
	if err := compiler.AddResource("asyncapi.yaml", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("asyncapi.yaml#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestConsumerTakesWhatTheContractAllows sends messages at the borders of the schema:
// those that it allows are done, the others are dead, and their headers keep the
// contract.
func TestConsumerTakesWhatTheContractAllows(t *testing.T) {
	t.Parallel()
	message, headers := contractOf(t, "InventoryRestocked"), contractOf(t, "DeadHeaders")
	w, s := newWarehouse(t), openShop(t, pgtest.New(t))
	s.sell(t, "tea")
	w.consume(t, s.Restock, 0)
	var allowed []string // by their header, for the body may have no id
	for i, body := range []string{
		`{"sku":"tea","quantity":1}`, `{"id":"~","sku":"tea","quantity":1000000000}`, `{"id":"a","sku":"tea","quantity":1,"more":[]}`,
		`{"id":"b","sku":"tea","quantity":0}`, `{"id":"c","sku":"tea","quantity":1000000001}`, `{"id":"d","sku":"tea","quantity":"1"}`,
		`{"id":"e f","sku":"tea","quantity":1}`, `{"id":"g","sku":"t/a","quantity":1}`, `{"id":"h","sku":"","quantity":1}`,
		`{"id":"i","quantity":1}`, `{"id":"j","sku":"tea"}`, `{"id":7,"sku":"tea","quantity":1}`, `[]`, `null`,
	} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		if message.Validate(value) == nil {
			allowed = append(allowed, body)
		}
		w.send(t, body, jetstream.WithMsgID(fmt.Sprint("header-", i)))
	}
	w.awaitDone(t)
	if len(allowed) != 3 || s.onHand(t, "tea") != 1_000_000_002 {
		t.Errorf("%d on hand of the allowed %q", s.onHand(t, "tea"), allowed)
	}
	for _, dead := range w.dead(t) {
		values := map[string]any{}
		for name := range dead.Header {
			values[name] = dead.Header.Get(name)
		}
		if err := headers.Validate(values); err != nil {
			t.Error(err)
		}
	}
	if n := len(w.dead(t)); n != 11 {
		t.Errorf("%d dead messages", n)
	}
}
