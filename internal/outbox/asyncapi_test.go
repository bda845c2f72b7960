package outbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"example.com/orders/api"
	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// contract is api/asyncapi.yaml: the schema of each type of event.
type contract map[string]*jsonschema.Schema

// eventSchemas are those with the member `type`.
var eventSchemas = []string{"OrderEvent", "PaymentEvent", "RefundEvent", "BalanceEvent"}

func readContract(t *testing.T) contract {
	t.Helper()
	doc := readYAML(t, api.AsyncAPI)
	closeObjects(doc)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7) // what AsyncAPI's own schemas extend
	compiler.AssertFormat()
	if err := compiler.AddResource("asyncapi.yaml", doc); err != nil {
		t.Fatal(err)
	}
	c := contract{}
	for _, name := range eventSchemas {
		schema, err := compiler.Compile("asyncapi.yaml#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, alternative := range schema.Properties["type"].OneOf {
			c[(*alternative.Const).(string)] = schema
		}
	}
	return c
}

// readYAML goes through JSON, for the types that the validator expects.
func readYAML(t *testing.T, text []byte) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// closeObjects forbids the members that the file does not name: consumers shall ignore
// them, we shall not send them.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, object := node["properties"]; object {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

// families are the variables that the core calls Event on, and what their types begin with.
var families = map[string]string{"o": "order.", "p": "payment.", "r": "refund.", "b": "balance."}

// computed are the values of those arguments of Event and SaveOrder that are no literals.
var computed = map[string][]string{
	"string(o.Status)": {string(order.Fulfilling), string(order.Shipped), string(order.Delivered)},
	"string(r.Status)": {string(payment.RefundPending), string(payment.RefundSucceeded), string(payment.RefundFailed)},
	"string(m.Kind)":   {string(payment.EntryCredit), string(payment.EntryCharge), string(payment.EntryPayment), string(payment.EntryRefund)},
	"what":             {}, // SaveOrder passes on what it was given
}

// TestContractHasEveryEvent looks for the types of events in the code of the core.
func TestContractHasEveryEvent(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir("../../../core", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				for _, name := range published(t, call) {
					found[name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for name := range readContract(t) {
		documented[name] = true
	}
	if diff := cmp.Diff(found, documented); diff != "" {
		t.Errorf("in the code and not in the contract (-), in the contract only (+):\n%s", diff)
	}
}

// published gives the types of the events that a call makes, if it makes any.
func published(t *testing.T, call *ast.CallExpr) []string {
	t.Helper()
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Event" && method.Sel.Name != "SaveOrder" {
		return nil
	}
	family, what := "order.", call.Args[len(call.Args)-1]
	if method.Sel.Name == "Event" {
		family, what = families[types.ExprString(method.X)], call.Args[0]
	}
	values, known := computed[types.ExprString(what)]
	if literal, plain := what.(*ast.BasicLit); plain {
		value, err := strconv.Unquote(literal.Value)
		values, known = []string{value}, err == nil
	}
	if !known || family == "" {
		t.Errorf("this test does not understand %s", types.ExprString(call))
	}
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = family + value
	}
	return names
}

func rubles(t *testing.T, amount string) core.Money {
	t.Helper()
	m, err := core.ParseMoney(amount, "RUB")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sample makes an event of the type as the core does.
func sample(t *testing.T, name string) core.Event {
	t.Helper()
	family, what, _ := strings.Cut(name, ".")
	amount := rubles(t, "1999.00")
	switch family {
	case "order":
		return (&order.Order{ID: 17, CustomerID: "sber-42", SellerID: "shop", Status: order.Paid, Total: amount, Version: 2}).Event(what)
	case "payment":
		return (&payment.Payment{
			ID: 3, OrderID: 17, Method: payment.ByCard, Status: payment.Captured, Amount: amount,
			Card: payment.Card{Token: "pm_card_visa"},
		}).Event(what)
	case "refund":
		return (&payment.Refund{ID: 5, PaymentID: 3, OrderID: 17, Status: payment.RefundPending, Amount: amount}).Event(what)
	default:
		m := &payment.LedgerEntry{ID: 9, Kind: payment.EntryCredit, Amount: amount}
		return (&payment.Balance{CustomerID: "sber-42", Amount: amount}).Event(what, m)
	}
}

// TestPublishedEventsKeepTheContract sends one event of each type all the way: journal,
// outbox, relay, broker.
func TestPublishedEventsKeepTheContract(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	var sent []string
	for name := range c {
		sent = append(sent, name)
		err := db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			return tx.Journal.Publish(ctx, sample(t, name))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker))})
	awaitEmpty(t, db)
	var got []string
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		got = append(got, c.check(t, body))
	}
	slices.Sort(sent)
	slices.Sort(got)
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Error(diff)
	}
}

// check holds an event against the schema of its type, and gives the type.
func (c contract) check(t *testing.T, body []byte) string {
	t.Helper()
	event, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := event.(map[string]any)["type"].(string)
	schema, known := c[name]
	if !known {
		t.Errorf("%q is not in the contract", name)
	} else if err := schema.Validate(event); err != nil {
		t.Errorf("%s\n%v", body, err)
	}
	return name
}

// TestContractRefuses makes sure that the schemas say something.
func TestContractRefuses(t *testing.T) {
	t.Parallel()
	schema := readContract(t)["order.paid"]
	for name, change := range map[string]func(event, data map[string]any){
		"no id":            func(event, _ map[string]any) { delete(event, "id") },
		"another version":  func(event, _ map[string]any) { event["version"] = 2 },
		"another type":     func(event, _ map[string]any) { event["type"] = "order.eaten" },
		"a foreign member": func(event, _ map[string]any) { event["email"] = "a@b.example" },
		"a number of money": func(_, data map[string]any) {
			data["amount"] = 1999.0
		},
		"personal data": func(_, data map[string]any) { data["full_name"] = "Anna" },
		"no status":     func(_, data map[string]any) { delete(data, "status") },
		"local time":    func(event, _ map[string]any) { event["occurred_at"] = "2026-03-01T12:00:00+03:00" },
	} {
		data := sample(t, "order.paid").Data
		data["order_id"], data["version"] = 17, 2
		event := map[string]any{
			"id": 1, "type": "order.paid", "version": 1, "aggregate": "order/17",
			"occurred_at": time.Now().UTC().Format(time.RFC3339Nano), "data": data,
		}
		if err := schema.Validate(event); err != nil {
			t.Fatalf("before the change: %v", err)
		}
		change(event, data)
		if schema.Validate(event) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
