package contracttest_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
	contracttest "example.com/orders/internal/test/contract"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// One event of each type goes all the way: outbox, relay, publisher, stream.
func TestAsyncAPI_DescribesEveryPublishedEvent(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t), natstest.New(t)
	schemas := contracttest.EventSchemas(t)
	var written []string
	for eventType := range schemas {
		written = append(written, eventType)
		err := db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			return tx.Outbox.Add(ctx, sampleEvent(t, core.EventType(eventType)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	relay := &outbox.Relay{Store: db.Outbox(), Publisher: natstest.Publisher(t, broker)}
	natstest.Run(t, relay.Run)
	natstest.AwaitPublished(t, db.Outbox())

	var published []string
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		published = append(published, checkEvent(t, schemas, body))
	}
	slices.Sort(written)
	slices.Sort(published)
	if diff := cmp.Diff(written, published); diff != "" {
		t.Errorf("types of events (-written +published):\n%s", diff)
	}
}

func openDB(t *testing.T) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, pgtest.New(t)), MaxConns: 4}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// checkEvent validates a message against the schema of its type, and returns the type.
func checkEvent(t *testing.T, schemas map[string]*jsonschema.Schema, body []byte) string {
	t.Helper()
	event, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	members, _ := event.(map[string]any)
	eventType, _ := members["type"].(string)
	schema, known := schemas[eventType]
	if !known {
		t.Errorf("api/asyncapi.yaml does not know %q", eventType)
	} else if err := schema.Validate(event); err != nil {
		t.Errorf("%s\n%v", body, err)
	}
	return eventType
}

// sampleEvent returns an event as the core makes it.
func sampleEvent(t *testing.T, eventType core.EventType) core.Event {
	t.Helper()
	family, _, _ := strings.Cut(string(eventType), ".")
	amount, err := core.ParseMoney("1999.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	switch family {
	case "order":
		o := &order.Order{
			ID: 17, CustomerID: "sber-42", SellerID: "shop", Status: order.Paid, Total: amount, Version: 2,
		}
		return o.Event(eventType)
	case "payment":
		p := &payment.Payment{
			ID: 3, OrderID: 17, Method: payment.ByCard, Status: payment.Captured, Amount: amount,
			Card: payment.Card{Token: "pm_card_visa"},
		}
		return p.Event(eventType)
	case "webhook_endpoint":
		e := &webhook.Endpoint{ID: 7, SellerID: "shop", DisabledReason: webhook.DisabledGone}
		return e.Event(eventType)
	case "refund":
		r := &payment.Refund{
			ID: 5, PaymentID: 3, OrderID: 17, Status: payment.RefundPending, Amount: amount,
		}
		return r.Event(eventType)
	case "product":
		p := &order.Product{SKU: "tea", SellerID: "shop"}
		return p.Event(eventType, &order.StockAdjustment{ID: 7, Change: -1, OnHand: 9})
	default:
		b := &payment.Balance{CustomerID: "sber-42", Amount: amount}
		return b.Event(eventType, &payment.LedgerEntry{ID: 9, Kind: payment.EntryCredit, Amount: amount})
	}
}

// A schema that accepts everything would prove nothing.
func TestAsyncAPI_RejectsWrongEvents(t *testing.T) {
	t.Parallel()
	schema := contracttest.EventSchemas(t)["order.paid"]
	changes := map[string]func(event, data map[string]any){
		"no id":              func(event, _ map[string]any) { delete(event, "id") },
		"source of nobody":   func(event, _ map[string]any) { event["source"] = "/orders" },
		"other CloudEvents":  func(event, _ map[string]any) { event["specversion"] = "2.0" },
		"unknown type":       func(event, _ map[string]any) { event["type"] = "order.eaten" },
		"unknown member":     func(event, _ map[string]any) { event["email"] = "a@b.example" },
		"amount as a number": func(_, data map[string]any) { data["amount"] = 1999.0 },
		"personal data":      func(_, data map[string]any) { data["full_name"] = "Anna" },
		"no status":          func(_, data map[string]any) { delete(data, "status") },
		"local time":         func(event, _ map[string]any) { event["time"] = "2026-03-01T12:00:00+03:00" },
	}
	for name, change := range changes {
		data := map[string]any{
			"order_id": 17, "customer_id": "sber-42", "seller_id": "shop", "status": "paid",
			"amount": "1999.00", "currency": "RUB", "version": 2,
		}
		event := map[string]any{
			"specversion": "1.0", "id": "019ca949-0ac0-7c2e-9d55-2b1f5e0a7c31",
			"source": "/orders/6f6a9a52-2f5e-4d0c-8a53-0f4f1c0f7b1e", "type": "order.paid", "subject": "order/17",
			"time": time.Now().UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
			"schemaversion": 1, "data": data,
		}
		if err := schema.Validate(event); err != nil {
			t.Fatalf("before the change: %v", err)
		}
		change(event, data)
		if schema.Validate(event) == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

var eventTypeConstant = regexp.MustCompile(`\bcore\.EventType += "(.*)"`)

// The lists of event types have every constant, and api/asyncapi.yaml has every type.
func TestEventTypes_AreThoseOfAsyncAPI(t *testing.T) {
	t.Parallel()
	var published []string
	for file, listed := range map[string][]core.EventType{
		"../../core/order/event.go":   order.EventTypes,
		"../../core/payment/event.go": payment.EventTypes,
		"../../core/webhook/event.go": webhook.EventTypes,
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var declared []core.EventType
		for _, constant := range eventTypeConstant.FindAllSubmatch(source, -1) {
			if core.EventType(constant[1]) == webhook.EventTest {
				continue // it goes to one endpoint, and never to the broker
			}
			declared = append(declared, core.EventType(constant[1]))
			published = append(published, string(constant[1]))
		}
		if diff := cmp.Diff(declared, listed); diff != "" {
			t.Errorf("%s: declared only (-), listed only (+):\n%s", file, diff)
		}
	}
	slices.Sort(published)
	documented := slices.Sorted(maps.Keys(contracttest.EventSchemas(t)))
	if diff := cmp.Diff(published, documented); diff != "" {
		t.Errorf("only in the code (-), only in api/asyncapi.yaml (+):\n%s", diff)
	}
}
