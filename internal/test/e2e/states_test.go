package e2e_test

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
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"example.com/orders/api"
	"example.com/orders/internal/core/order"
)

// How a client meets each code of contract §5. Every entry starts from a service with
// ten units of tea, and gives the call that is refused.
var meetings = map[string]struct {
	status   int
	settings []string
	meet     func(s *service) call
}{
	"malformed_request": {status: 400, meet: func(s *service) call {
		return call{method: "POST", path: "/orders", token: s.asCustomer(), key: s.newKey(), body: `{"items": [`}
	}},
	"idempotency_key_required": {status: 400, meet: func(s *service) call { return s.orderCall(alice, "tea", 1, "") }},
	"idempotency_key_invalid":  {status: 400, meet: func(s *service) call { return s.orderCall(alice, "tea", 1, "a,b") }},
	"unauthenticated":          {status: 401, meet: func(*service) call { return get("", "/orders") }},
	"insufficient_funds": {status: 402, meet: func(s *service) call {
		return s.confirmCall(alice, s.order(alice, "tea", 1).ID, s.newKey())
	}},
	"forbidden_role": {status: 403, meet: func(s *service) call { return get(s.asSystem(), "/orders") }},
	"forbidden_resource": {status: 403, meet: func(s *service) call {
		return s.reserveCall(s.token(mallory, "customer"), s.order(alice, "tea", 1).ID)
	}},
	"not_found":          {status: 404, meet: func(s *service) call { return get(s.asCustomer(), "/orders/1") }},
	"method_not_allowed": {status: 405, meet: func(s *service) call { return call{method: "DELETE", path: "/orders", token: s.asCustomer()} }},
	"body_too_large": {status: 413, meet: func(s *service) call {
		c := s.orderCall(alice, "tea", 1, s.newKey())
		c.body += strings.Repeat(" ", 64<<10)
		return c
	}},
	"unsupported_media_type": {status: 415, meet: func(s *service) call {
		c := s.orderCall(alice, "tea", 1, s.newKey())
		c.header = http.Header{"Content-Type": {"text/plain"}}
		return c
	}},
	"idempotency_key_reused": {status: 409, meet: func(s *service) call {
		key := s.newKey()
		want[orderBody](s, http.StatusCreated, s.orderCall(alice, "tea", 1, key))
		return s.orderCall(alice, "tea", 2, key)
	}},
	"idempotency_in_progress": {status: 409, settings: []string{"ORDERS_IDEMPOTENCY_WAIT=0s"}, meet: func(s *service) call {
		return s.underway(s.reserveCall(s.asCustomer(), s.order(alice, "tea", 1).ID))
	}},
	"invalid_order_state": {status: 409, meet: func(s *service) call {
		return s.cancelCall(s.asCustomer(), s.orderThatIs(order.Cancelled, alice, "tea").ID)
	}},
	"out_of_stock": {status: 409, meet: func(s *service) call { return s.orderCall(alice, "tea", 11, s.newKey()) }},
	"stock_reserved": {status: 409, meet: func(s *service) call {
		s.order(alice, "tea", 5)
		return s.offer("tea", shop, "100.00", "RUB", 4)
	}},
	"reservation_expired": {status: 409, meet: func(s *service) call {
		o := s.order(alice, "tea", 1)
		s.expireReservation(o.ID)
		return s.confirmCall(alice, o.ID, s.newKey())
	}},
	"refund_exceeds_payment": {status: 409, meet: func(s *service) call {
		return s.refundCall(s.asCustomer(), s.boughtOrder(alice, "tea", 1).ID, "100.01")
	}},
	"validation_failed": {status: 422, meet: func(s *service) call { return s.orderCall(alice, "tea", 0, s.newKey()) }},
	"unknown_sku":       {status: 422, meet: func(s *service) call { return s.orderCall(alice, "coffee", 1, s.newKey()) }},
	"mixed_currencies":  {status: 422, meet: func(s *service) call { return s.mixedOrder(shop, "EUR") }},
	"mixed_sellers":     {status: 422, meet: func(s *service) call { return s.mixedOrder(rival, "RUB") }},
	"payment_method_unavailable": {status: 422, meet: func(s *service) call {
		c := s.confirmCall(alice, s.order(alice, "tea", 1).ID, s.newKey())
		c.body = `{"method": "card", "payment_method": "pm_1"}`
		return c
	}},
	"internal": {status: 500, meet: func(s *service) call {
		s.exec("UPDATE product SET currency = 'XXX'") // nobody's currency
		return get(s.asSeller(), "/products/tea")
	}},
	"unavailable": {status: 503, meet: func(s *service) call {
		s.run()() // it has run and stopped: its last word is "not ready"
		return get("", "/health/ready")
	}},
	"outcome_unknown": {status: 503, meet: func(s *service) call {
		// The connection ends when COMMIT is under way, and nothing tells how it went.
		s.exec(`CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
		s.exec(`CREATE CONSTRAINT TRIGGER end_at_commit AFTER INSERT ON outbox
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()`)
		return s.creditCall(alice, "1.00", s.newKey())
	}},
}

// excuse is why nothing leads to a code or a status yet, and the names that code would use
// if something did.
type excuse struct {
	reason string
	names  []string
}

var codesNotYet = map[string]excuse{
	"card_declined": {"a card is declined after the answer, and the payment tells", []string{"CodeCardDeclined", "ProblemCodeCardDeclined"}},
	"rate_limited":  {"nobody counts requests yet", []string{"ProblemCodeRateLimited"}},
}

func TestEveryErrorCodeCanBeMet(t *testing.T) {
	t.Parallel()
	covered := slices.AppendSeq(slices.Collect(maps.Keys(meetings)), maps.Keys(codesNotYet))
	slices.Sort(covered)
	if diff := cmp.Diff(contractEnum(t, "ProblemCode"), covered); diff != "" {
		t.Errorf("the codes of the contract are not those that are met here (-contract +here):\n%s", diff)
	}
	for code, m := range meetings {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := newService(t, m.settings...)
			s.putProduct("tea", 10)
			s.wantProblem(m.status, code, m.meet(s)) // send holds it against the contract
		})
	}
}

func TestEveryOrderStatusCanBeReached(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 100})
	var known []string
	for status := range order.Transitions {
		known = append(known, string(status))
		o := s.orderThatIs(status, alice, "tea")
		page := want[pageOf[orderBody]](s, http.StatusOK, get(s.asCustomer(), "/orders?status="+string(status)))
		if len(page.Data) != 1 || page.Data[0].ID != o.ID {
			t.Errorf("%s: the list has %+v, want order %d", status, page.Data, o.ID)
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(contractEnum(t, "OrderStatus"), known); diff != "" {
		t.Errorf("the statuses of the contract are not the table's (-contract +table):\n%s", diff)
	}
}

// An excuse ends when its reason does: as soon as code uses the name, a test has to
// reach it.
func TestWhatCannotBeReachedYetIsUsedNowhere(t *testing.T) {
	t.Parallel()
	uses := namesInUse(t, "../../../internal/core", "../../../internal/adapters", "../../../cmd")
	for _, e := range codesNotYet {
		for _, name := range e.names {
			if where := uses[name]; where != nil {
				t.Errorf("%q is over: %s is used in %v. Reach it in a test and drop the excuse", e.reason, name, where)
			}
		}
	}
	if uses["ProblemCodeForbiddenRole"] == nil || uses["CodeOutOfStock"] == nil || uses["Fulfilling"] == nil {
		t.Error("not even the names that are in use are found")
	}
}

// vocabulary are the files that list what there is; only their functions use it.
var vocabulary = []string{"core/fault.go", "core/order/status.go", "in/http/problem.go", "wire/models.gen.go"}

// namesInUse gives, for each identifier in the code, the files that use it. Tests do not
// count, and lists of what there is do not.
func namesInUse(t *testing.T, roots ...string) map[string][]string {
	t.Helper()
	uses := map[string][]string{}
	note := func(path string, lists bool) error {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !slices.Contains(uses[id.Name], path) {
				uses[id.Name] = append(uses[id.Name], path)
			}
			_, list := n.(*ast.GenDecl)
			return !list || !lists
		})
		return nil
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return note(path, slices.ContainsFunc(vocabulary, func(file string) bool {
				return strings.HasSuffix(filepath.ToSlash(path), file)
			}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return uses
}

// contractEnum gives the values of a schema of the contract, sorted.
func contractEnum(t *testing.T, schema string) []string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	if err := yaml.Unmarshal(api.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	values := document.Components.Schemas[schema].Enum
	slices.Sort(values)
	return values
}

// offer asks to put a product.
func (w *world) offer(sku, seller, price, currency string, onHand int) call {
	return call{method: "PUT", path: "/products/" + sku, token: w.token(seller, "seller"), body: `{"name": "` + sku +
		`", "price": {"amount": "` + price + `", "currency": "` + currency + `"}, "on_hand": ` + strconv.Itoa(onHand) + `}`}
}

// mixedOrder asks for tea and something of another seller or in another currency.
func (s *service) mixedOrder(seller, currency string) call {
	s.Helper()
	want[product](s, http.StatusCreated, s.offer("coffee", seller, "5.00", currency, 10))
	c := s.orderCall(alice, "tea", 1, s.newKey())
	c.body = `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "coffee", "quantity": 1}]}`
	return c
}

// underway sends a command on an order and lets it wait, with its key claimed, until
// the end of the test.
func (s *service) underway(c call) call {
	s.Helper()
	tx, err := s.db.Begin(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	first := make(chan error, 1)
	s.Cleanup(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			s.Error(err)
		}
		if err := receive(s, first, "the first request is answered"); err != nil {
			s.Error(err)
		}
	})
	if _, err := tx.Exec(s.Context(), "SELECT FROM orders FOR UPDATE"); err != nil {
		s.Fatal(err)
	}
	ctx := context.WithoutCancel(s.Context())
	go func() {
		r, err := s.try(ctx, c)
		if err == nil && r.status != http.StatusOK {
			err = fmt.Errorf("the first request got %d %s", r.status, r.body)
		}
		first <- err
	}()
	s.waitBlocked(1)
	return c
}
