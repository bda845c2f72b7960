package contracttest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	contracttest "example.com/orders/internal/test/contract"
)

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
	err := filepath.WalkDir("../../core", func(path string, _ fs.DirEntry, err error) error {
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
	for name := range contracttest.EventSchemas(t) {
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
