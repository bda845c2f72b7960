package commands_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// Each response is compared with the contract, also its next_key.
func TestErrorCodes_CanAllBeReached(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	var reached []string
	for _, name := range routes.Refusals() {
		r := routes.PrepareRefusal(t, s, name)
		reached = append(reached, s.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(s.NewKey())).Code())
	}
	for want, call := range refusedCalls(t, s) {
		r := s.Send(t, call)
		if r.Verdict() != want {
			t.Errorf("%s %s: %s, want %s", call.Method, call.Path, r.Body, want)
		}
		reached = append(reached, r.Code())
	}
	for want, c := range ownServices {
		t.Run(want, func(t *testing.T) { // one after the other, because they are counted
			s := e2e.Start(t, c.settings...)
			s.PutProduct(t, "tea", 10)
			r := c.refused(t, s)
			if r.Verdict() != want {
				t.Errorf("%s, want %s", r.Body, want)
			}
			reached = append(reached, r.Code())
		})
	}
	slices.Sort(reached)
	if diff := cmp.Diff(contractEnum(s, "ProblemCode"), slices.Compact(reached)); diff != "" {
		t.Errorf("codes (-contract +reached):\n%s", diff)
	}
}

// refusedCalls returns calls by the verdict on them.
func refusedCalls(t testing.TB, s *e2e.Service) map[string]e2e.Call {
	t.Helper()
	customer, create := s.CustomerToken(t), s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	first := create.WithKey(s.NewKey())
	created := e2e.Want[e2e.Order](t, s, http.StatusCreated, first)
	expired := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.ExpireReservation(t, expired.ID)
	disputed := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	s.InsertDispute(t, disputed.ID)
	credit := s.CreditCall(t, e2e.Alice, "1.00").WithBody(`{"reference": "A-1", "amount": {"amount": "1.00", "currency": "RUB"}}`)
	s.MustSend(t, credit)
	s.MustSend(t, s.PutProductCall(t, "euro", e2e.Shop, e2e.Money{Amount: "5.00", Currency: "EUR"}, 10))
	s.MustSend(t, s.PutProductCall(t, "rival", e2e.Rival, e2e.Roubles("5.00"), 10))
	endpoint := e2e.Call{Method: "POST", Path: "/webhook-endpoints", Token: s.SellerToken(t), Body: routes.EndpointBody}
	s.MustSend(t, endpoint)
	return map[string]e2e.Call{
		"400 malformed_request":        create.WithBody(`{"items": [`),
		"400 idempotency_key_required": create.WithKey(""),
		"400 idempotency_key_invalid":  create.WithKey("a,b"),
		"401 unauthenticated":          e2e.Get("", "/orders"),
		"403 forbidden_role":           e2e.Get(s.SystemToken(t), "/orders"),
		"403 forbidden_resource":       s.ReserveCall(s.Token(t, e2e.Mallory, "customer"), created.ID),
		"404 not_found":                e2e.Get(customer, "/orders/999999"),
		"405 method_not_allowed":       {Method: "DELETE", Path: "/orders", Token: customer},
		"409 reference_taken":          credit.WithKey(s.NewKey()),
		"409 idempotency_key_reused":   first.WithBody(`{"items": [{"sku": "tea", "quantity": 2}]}`),
		"409 reservation_expired":      s.ConfirmCall(t, e2e.Alice, expired.ID),
		"409 payment_disputed":         s.OrderCommand(customer, disputed.ID, "payment/refund", `{"full": true}`),
		"409 webhook_endpoint_exists":  endpoint,
		"412 precondition_failed":      s.PutPriceCall(t, "tea", e2e.Shop, e2e.Roubles("100.00")).WithHeader("If-Match", `"999"`),
		"413 body_too_large":           create.WithBody(create.Body + strings.Repeat(" ", 64<<10)),
		"415 unsupported_media_type":   create.WithHeader("Content-Type", "text/plain"),
		"422 mixed_currencies":         create.WithBody(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "euro", "quantity": 1}]}`),
		"422 mixed_sellers":            create.WithKey(s.NewKey()).WithBody(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rival", "quantity": 1}]}`),
		"428 precondition_required":    s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10),
	}
}

// ownServices lead to codes that need a service with a setting, or one that fails.
var ownServices = map[string]struct {
	settings []string
	refused  func(t testing.TB, s *e2e.Service) e2e.Reply
}{
	"409 idempotency_key_spent": {nil, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		c := s.ChargeCall(t, e2e.Alice, "10.00")
		s.StartReplica(t).WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", c)
		s.Exec(t, `UPDATE idempotency_record SET created_at = created_at - interval '7 hours'`)
		return s.Send(t, c)
	}},
	"409 idempotency_in_progress": {[]string{"ORDERS_IDEMPOTENCY_WAIT=0s"}, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		c := routes.Prepare(t, s, "reserveInventory")
		call, lock, first := c.WithKey(s.NewKey()), c.LockRow(t), make(chan e2e.Reply, 1)
		go func() { first <- s.Send(t, call) }()
		lock.AwaitWaiter(t)
		duplicate := s.Send(t, call)
		lock.Release()
		c.WantFirst(t, e2e.Receive(t, first, "the first request is answered"), c.Status)
		return duplicate
	}},
	"429 rate_limited": {[]string{"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1"}, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		return s.Send(t, s.CreateOrderCall(t, e2e.Alice, "tea", 1))
	}},
	"500 internal": {nil, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		s.Exec(t, "UPDATE product SET currency = 'XXX'") // no such currency
		return s.Send(t, e2e.Get(s.SellerToken(t), "/products/tea"))
	}},
	"503 unavailable": {nil, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		s.Run(t)() // it runs and stops, and is not ready any more
		return s.Send(t, e2e.Get("", "/health/ready"))
	}},
	"503 outcome_unknown": {nil, func(t testing.TB, s *e2e.Service) e2e.Reply {
		t.Helper()
		endAtCommit(t, s, "outbox")
		return s.Send(t, s.CreditCall(t, e2e.Alice, "1.00"))
	}},
}

// endAtCommit ends the connection of a transaction that changes a table, when its COMMIT
// is under way and the service cannot know the outcome.
func endAtCommit(t testing.TB, s *e2e.Service, table string) {
	t.Helper()
	s.Exec(t, fmt.Sprintf(`CREATE FUNCTION end_%s() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`, table))
	s.Exec(t, fmt.Sprintf(`CREATE CONSTRAINT TRIGGER end_at_commit AFTER INSERT OR UPDATE OR DELETE ON %s
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_%[1]s()`, table))
}

// A request without a key whose outcome is unknown may be repeated only where that changes
// nothing more.
func TestOutcomeUnknown_IsRetryableOnlyWithoutHarm(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	paid := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	update := putProfileCall(s.CustomerToken(t), "Alice")
	s.MustSend(t, update) // so that there is a profile to delete
	endpoint := routes.Prepare(t, s, "updateWebhookEndpoint")
	change := endpoint.Call.WithToken(s.Token(t, endpoint.Seller, "seller"))
	for _, table := range []string{"orders", "product", "customer_profile", "webhook_endpoint"} {
		endAtCommit(t, s, table)
	}
	for _, c := range []struct {
		e2e.Call
		retryable bool
	}{
		{e2e.StatusCall(s.SellerToken(t), paid.ID, "fulfilling"), false},
		{s.PutProductCall(t, "coffee", e2e.Shop, e2e.Roubles("5.00"), 1), false},
		{update, true},
		{deleteProfileCall(s.CustomerToken(t)), true},
		{e2e.Call{Method: "POST", Path: "/webhook-endpoints", Token: s.SellerToken(t), Body: routes.EndpointBody}, false},
		{change, true},
	} {
		r := s.WantProblem(t, http.StatusServiceUnavailable, "outcome_unknown", c.Call)
		if got := r.Header.Get("Retry-After") != ""; got != c.retryable {
			t.Errorf("%s %s: retryable is %t, want %t: %s", c.Method, c.Path, got, c.retryable, r.Body)
		}
	}
}

func TestOrderStatuses_CanAllBeReached(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 100})
	var known []string
	for _, status := range order.Statuses() {
		known = append(known, string(status))
		o := s.MustCreateOrderIn(t, status, e2e.Alice, "tea")
		page := e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/orders?status="+string(status)))
		if len(page.Data) != 1 || page.Data[0].ID != o.ID {
			t.Errorf("%s: the list has %+v, want order %d", status, page.Data, o.ID)
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(contractEnum(s, "OrderStatus"), known); diff != "" {
		t.Errorf("the statuses of the contract are not those of the transitions (-contract +transitions):\n%s", diff)
	}
}

// contractEnum returns the values that a schema of the contract lists, sorted.
func contractEnum(s *e2e.Service, schema string) []string {
	var values []string
	for _, value := range s.Contract.Document().Components.Schemas[schema].Value.Enum {
		values = append(values, fmt.Sprint(value))
	}
	slices.Sort(values)
	return values
}
