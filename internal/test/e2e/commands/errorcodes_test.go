package commands_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
)

// refusals lead to each error code of section 5 of the contract. Each starts on a
// service with ten units of tea, and returns the call that is refused.
var refusals = map[string]struct {
	status int
	// nextKey is the next_key of the problem, empty on routes that take no key.
	nextKey  string
	settings []string
	refused  func(t testing.TB, s *e2e.Service) e2e.Call
}{
	"malformed_request": {status: 400, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return e2e.Call{Method: "POST", Path: "/orders", Token: s.CustomerToken(t), Key: s.NewKey(), Body: `{"items": [`}
	}},
	"idempotency_key_required": {status: 400, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey("")
	}},
	"idempotency_key_invalid": {status: 400, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey("a,b")
	}},
	"unauthenticated": {status: 401, refused: func(_ testing.TB, _ *e2e.Service) e2e.Call { return e2e.Get("", "/orders") }},
	"insufficient_funds": {status: 402, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.ConfirmCall(t, e2e.Alice, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID)
	}},
	"forbidden_role": {status: 403, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return e2e.Get(s.SystemToken(t), "/orders")
	}},
	"forbidden_resource": {status: 403, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.ReserveCall(s.Token(t, e2e.Mallory, "customer"), s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID)
	}},
	"not_found": {status: 404, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return e2e.Get(s.CustomerToken(t), "/orders/1")
	}},
	"method_not_allowed": {status: 405, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return e2e.Call{Method: "DELETE", Path: "/orders", Token: s.CustomerToken(t)}
	}},
	"body_too_large": {status: 413, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		c := s.CreateOrderCall(t, e2e.Alice, "tea", 1)
		c.Body += strings.Repeat(" ", 64<<10)
		return c
	}},
	"unsupported_media_type": {status: 415, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithHeader("Content-Type", "text/plain")
	}},
	"reference_taken": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		c := s.CreditCall(t, e2e.Alice, "1.00").WithBody(`{"reference": "A-1", "amount": {"amount": "1.00", "currency": "RUB"}}`)
		e2e.Want[e2e.Transaction](t, s, http.StatusCreated, c)
		return c.WithKey(s.NewKey())
	}},
	"idempotency_key_reused": {status: 409, nextKey: "look_up", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		key := s.NewKey()
		e2e.Want[e2e.Order](t, s, http.StatusCreated, s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey(key))
		return s.CreateOrderCall(t, e2e.Alice, "tea", 2).WithKey(key)
	}},
	"idempotency_key_spent": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		c := s.ChargeCall(t, e2e.Alice, "10.00")
		s.StartReplica(t).WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", c)
		s.Exec(t, `UPDATE idempotency_record SET created_at = created_at - interval '7 hours'`)
		return c
	}},
	"idempotency_in_progress": {status: 409, nextKey: "same", settings: []string{"ORDERS_IDEMPOTENCY_WAIT=0s"}, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return inProgress(t, s, s.ReserveCall(s.CustomerToken(t), s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID))
	}},
	"invalid_order_state": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CancelCall(s.CustomerToken(t), s.MustCreateOrderIn(t, order.Cancelled, e2e.Alice, "tea").ID)
	}},
	"reservation_limit": {status: 409, nextKey: "new", settings: []string{"ORDERS_RESERVATION_EXTENSIONS=1"}, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(s.CustomerToken(t), o.ID))
		return s.ReserveCall(s.SellerToken(t), o.ID)
	}},
	"unpaid_orders_limit": {status: 409, nextKey: "new", settings: []string{"ORDERS_UNPAID_ORDERS=1"}, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		return s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	}},
	"out_of_stock": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "tea", 11)
	}},
	"stock_reserved": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		s.MustCreateOrder(t, e2e.Alice, "tea", 5)
		return s.AdjustStockCall(s.SellerToken(t), "tea", -6)
	}},
	"precondition_failed": {status: 412, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.PutPriceCall(t, "tea", e2e.Shop, e2e.Roubles("100.00")).WithHeader("If-Match", `"2"`)
	}},
	"precondition_required": {status: 428, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10)
	}},
	"reservation_expired": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		s.ExpireReservation(t, o.ID)
		return s.ConfirmCall(t, e2e.Alice, o.ID)
	}},
	"refund_exceeds_payment": {status: 409, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.RefundCall(s.CustomerToken(t), s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1).ID, "100.01")
	}},
	"validation_failed": {status: 422, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "tea", 0)
	}},
	"unknown_sku": {status: 422, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CreateOrderCall(t, e2e.Alice, "coffee", 1)
	}},
	"mixed_currencies": {status: 422, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return mixedOrder(t, s, e2e.Shop, "EUR")
	}},
	"mixed_sellers": {status: 422, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return mixedOrder(t, s, e2e.Rival, "RUB")
	}},
	"payment_method_unavailable": {status: 422, nextKey: "new", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		return s.CardCall(t, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_1")
	}},
	"internal": {status: 500, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		s.Exec(t, "UPDATE product SET currency = 'XXX'") // no such currency
		return e2e.Get(s.SellerToken(t), "/products/tea")
	}},
	"unavailable": {status: 503, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		s.Run(t)() // it runs and stops, and is not ready any more
		return e2e.Get("", "/health/ready")
	}},
	"rate_limited": {status: 429, nextKey: "same", settings: []string{"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1"}, refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		return s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	}},
	"outcome_unknown": {status: 503, nextKey: "same", refused: func(t testing.TB, s *e2e.Service) e2e.Call {
		t.Helper()
		// The connection ends when COMMIT is under way, and the service cannot know the
		// outcome.
		s.Exec(t, `CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
		s.Exec(t, `CREATE CONSTRAINT TRIGGER end_at_commit AFTER INSERT ON outbox
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()`)
		return s.CreditCall(t, e2e.Alice, "1.00")
	}},
}

// unreachable is why nothing leads to an error code yet, and the identifiers that code
// would use if something did.
type unreachable struct {
	reason      string
	identifiers []string
}

var unreachableCodes = map[string]unreachable{
	"card_declined": {"a card is declined after the response, and the payment says so", []string{"CodeCardDeclined", "ProblemCodeCardDeclined"}},
}

func TestErrorCodes_CanAllBeReached(t *testing.T) {
	t.Parallel()
	covered := slices.AppendSeq(slices.Collect(maps.Keys(refusals)), maps.Keys(unreachableCodes))
	slices.Sort(covered)
	if diff := cmp.Diff(contractEnum(t, "ProblemCode"), covered); diff != "" {
		t.Errorf("the codes of the contract are not those of this test (-contract +test):\n%s", diff)
	}
	for code, c := range refusals {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := e2e.Start(t, c.settings...)
			s.PutProduct(t, "tea", 10)
			r := s.WantProblem(t, c.status, code, c.refused(t, s))
			if next := r.NextKey(); next != c.nextKey {
				t.Errorf("next_key is %q, want %q: %s", next, c.nextKey, r.Body)
			}
		})
	}
}

func TestOrderStatuses_CanAllBeReached(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 100})
	var known []string
	for status := range order.Transitions {
		known = append(known, string(status))
		o := s.MustCreateOrderIn(t, status, e2e.Alice, "tea")
		page := e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/orders?status="+string(status)))
		if len(page.Data) != 1 || page.Data[0].ID != o.ID {
			t.Errorf("%s: the list has %+v, want order %d", status, page.Data, o.ID)
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(contractEnum(t, "OrderStatus"), known); diff != "" {
		t.Errorf("the statuses of the contract are not those of the transitions (-contract +transitions):\n%s", diff)
	}
}

// As soon as code uses one of the identifiers, a test has to reach the error code.
func TestErrorCodes_UnreachableOnesAreNotUsed(t *testing.T) {
	t.Parallel()
	uses := identifiersInUse(t, "../../../../internal/core", "../../../../internal/adapters", "../../../../cmd")
	for code, u := range unreachableCodes {
		for _, name := range u.identifiers {
			if where := uses[name]; where != nil {
				t.Errorf("%s is not unreachable (%s): %s is used in %v; reach it in a test", code, u.reason, name, where)
			}
		}
	}
	if uses["ProblemCodeForbiddenRole"] == nil || uses["CodeOutOfStock"] == nil || uses["Fulfilling"] == nil {
		t.Error("the search does not find identifiers that are in use")
	}
}

// declarations are the files that declare codes and statuses; only their functions use
// them.
var declarations = []string{"core/fault.go", "core/codes.go", "core/order/status.go", "in/http/problem.go", "wire/models.gen.go"}

// identifiersInUse returns the files that use each identifier. Tests and declarations
// do not count.
func identifiersInUse(t *testing.T, roots ...string) map[string][]string {
	t.Helper()
	uses := map[string][]string{}
	note := func(path string, declares bool) error {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !slices.Contains(uses[id.Name], path) {
				uses[id.Name] = append(uses[id.Name], path)
			}
			_, declaration := n.(*ast.GenDecl)
			return !declaration || !declares
		})
		return nil
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return note(path, slices.ContainsFunc(declarations, func(file string) bool {
				return strings.HasSuffix(filepath.ToSlash(path), file)
			}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return uses
}

// contractEnum returns the values that a schema of the contract lists, sorted.
func contractEnum(t *testing.T, schema string) []string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Values []string `yaml:"x-extensible-enum"`
			}
		}
	}
	if err := yaml.Unmarshal(api.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	values := document.Components.Schemas[schema].Values
	slices.Sort(values)
	return values
}

// mixedOrder is the call that orders tea and a product of another seller or currency.
func mixedOrder(t testing.TB, s *e2e.Service, seller, currency string) e2e.Call {
	t.Helper()
	price := e2e.Money{Amount: "5.00", Currency: currency}
	e2e.Want[e2e.Product](t, s, http.StatusCreated, s.PutProductCall(t, "coffee", seller, price, 10))
	return s.CreateOrderCall(t, e2e.Alice, "tea", 1).
		WithBody(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "coffee", "quantity": 1}]}`)
}

// inProgress sends a command on an order, lets it wait with its key claimed until the
// end of the test, and returns the call.
func inProgress(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Call {
	t.Helper()
	tx, err := s.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	t.Cleanup(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
		if err := e2e.Receive(t, first, "the first request is answered"); err != nil {
			t.Error(err)
		}
	})
	if _, err := tx.Exec(t.Context(), "SELECT FROM orders FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	go func() {
		r, err := s.Try(ctx, t, c)
		if err == nil && r.Status != http.StatusOK {
			err = fmt.Errorf("the first request got %d %s", r.Status, r.Body)
		}
		first <- err
	}()
	s.AwaitBlocked(t, 1)
	return c
}
