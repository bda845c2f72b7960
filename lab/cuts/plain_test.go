package cuts_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// plainCommand is a command without a key, prepared.
type plainCommand struct {
	call e2e.Call
	// answer is the verdict of the response when the command takes effect, and repeated
	// that of a repetition after it.
	answer, repeated string
	// harmless is set when a repetition of the request undoes nothing that came after it.
	harmless bool
	// effects counts the effects.
	effects e2e.Query
	// late lets others change what the command has left, and repeats it. The repetition
	// must not undo their changes. It is nil where the last request counts.
	late func(repeat func())
}

var plainCommands = map[string]func(t *testing.T, s *e2e.Service) plainCommand{
	"putProduct of a new product":  putNewProduct,
	"putProduct without its stock": putPrice,
	"putProduct with If-Match":     putStock,
	"updateOrderStatus":            updateStatus,
	"updateCustomerProfile":        putProfile,
	"deleteCustomerProfile":        deleteProfile,
}

// cutPlain cuts a command without a key, and repeats it.
func cutPlain(prepare func(t *testing.T, s *e2e.Service) plainCommand) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		r := startShop(t)
		r.cutEverywhere(t, func() attempt {
			warm := prepare(t, r.direct)
			wantAnyOf(t, r.cut.Send(t, warm.call).Verdict(), warm.answer)
			c := prepare(t, r.direct)
			r.awaitIdle(t)
			return r.plainAttempt(t, c)
		})
	}
}

// plainAttempt is a command and its repetitions.
func (r replicas) plainAttempt(t *testing.T, c plainCommand) attempt {
	t.Helper()
	var first e2e.Reply
	return attempt{
		run: func() string {
			first = r.cut.Send(t, c.call)
			return first.Verdict()
		},
		resolve: func(at cut, _ string) {
			wantOutcome(t, at, first, c.answer)
			wantRetryable(t, first, c.harmless || first.Verdict() == "503 unavailable")
			r.wantRepeatable(t, c, first.Verdict() == c.answer || at.passed() > at.sendsCommit())
		},
	}
}

// wantRepeatable repeats a command, and checks that it took effect once.
func (r replicas) wantRepeatable(t *testing.T, c plainCommand, done bool) {
	t.Helper()
	want, effects := c.answer, 0
	if done {
		want, effects = c.repeated, 1
	}
	count := func() int { return r.direct.Count(t, c.effects.SQL, c.effects.Args...) }
	e2e.Eventually(t, "the server has ended what was cut", func() bool { return count() == effects })
	repetition := e2e.Command{Service: r.cut, Call: c.call}
	wantAnyOf(t, r.retry(t, repetition, "").Verdict(), want)
	if n := count(); n != 1 {
		t.Errorf("%s %s took effect %d times, want once", c.call.Method, c.call.Path, n)
	}
	if c.late != nil {
		c.late(func() { wantAnyOf(t, r.retry(t, repetition, "").Verdict(), c.repeated) })
	}
}

// unitsPut is the stock that a PUT names.
const unitsPut = 10

// sellLate sells two of the units before the command is repeated.
func sellLate(t *testing.T, s *e2e.Service, sku string) func(repeat func()) {
	t.Helper()
	return func(repeat func()) {
		s.MustCreatePaidOrder(t, s.UniqueName("customer"), sku, 2)
		repeat()
		s.WantStock(t, sku, unitsPut-2, 0)
	}
}

func putNewProduct(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	sku := s.UniqueName("tea")
	return plainCommand{
		call:   s.PutProductCall(t, sku, e2e.Shop, e2e.Roubles("100.00"), unitsPut),
		answer: "201", repeated: "428 precondition_required",
		effects: e2e.Query{SQL: `SELECT coalesce(sum(version), 0) FROM product WHERE sku = $1`, Args: []any{sku}},
		late:    sellLate(t, s, sku),
	}
}

func putPrice(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	sku := s.UniqueName("tea")
	s.PutProduct(t, sku, unitsPut)
	return plainCommand{
		call:   s.PutPriceCall(t, sku, e2e.Shop, e2e.Roubles("120.00")),
		answer: "200", repeated: "200",
		effects: e2e.Query{SQL: `SELECT version - 1 FROM product WHERE sku = $1`, Args: []any{sku}},
		late:    sellLate(t, s, sku),
	}
}

// putStock counts a product of a hundred units, none of which was sold.
func putStock(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	sku := s.UniqueName("tea")
	put := s.PutProductCall(t, sku, e2e.Shop, e2e.Roubles("100.00"), 100)
	created := s.MustSend(t, put)
	counted := s.PutProductCall(t, sku, e2e.Shop, e2e.Roubles("100.00"), unitsPut)
	return plainCommand{
		call:   counted.WithHeader("If-Match", created.Header.Get("ETag")),
		answer: "200", repeated: "412 precondition_failed",
		effects: e2e.Query{SQL: `SELECT version - 1 FROM product WHERE sku = $1`, Args: []any{sku}},
		late:    sellLate(t, s, sku),
	}
}

// updateStatus is the command of an admin, whose effects are in the audit log.
func updateStatus(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	sku := s.UniqueName("tea")
	s.PutProduct(t, sku, unitsPut)
	o := s.MustCreatePaidOrder(t, s.UniqueName("customer"), sku, 2)
	return plainCommand{
		call:   e2e.StatusCall(s.AdminToken(t), o.ID, "fulfilling"),
		answer: "200", repeated: "409 invalid_order_state",
		effects: auditRows("UpdateOrderStatus", fmt.Sprintf("order/%d", o.ID)),
		late: func(repeat func()) {
			e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.StatusCall(s.SellerToken(t), o.ID, "shipped"))
			repeat()
			if status := s.ReadOrder(t, o.ID).Status; status != "shipped" {
				t.Errorf("the order is %s, want shipped", status)
			}
		},
	}
}

func auditRows(action, resource string) e2e.Query {
	return e2e.Query{SQL: `SELECT count(*) FROM audit_log WHERE action = $1 AND resource = $2`, Args: []any{action, resource}}
}

func putProfile(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	customer := s.UniqueName("customer")
	return plainCommand{
		call: e2e.Call{
			Method: http.MethodPut, Path: "/customers/" + customer + "/profile",
			Token: s.Token(t, customer, "customer"), Body: e2e.ProfileBody,
		},
		answer: "200", repeated: "200", harmless: true,
		effects: e2e.Query{SQL: `SELECT count(*) FROM customer_profile WHERE customer_id = $1 AND full_name = 'Alice'`, Args: []any{customer}},
	}
}

// deleteProfile is the command of an admin, whose effects are in the audit log.
func deleteProfile(t *testing.T, s *e2e.Service) plainCommand {
	t.Helper()
	customer := s.UniqueName("customer")
	path := "/customers/" + customer + "/profile"
	s.MustSend(t, e2e.Call{Method: http.MethodPut, Path: path, Token: s.Token(t, customer, "customer"), Body: e2e.ProfileBody})
	return plainCommand{
		call:   e2e.Call{Method: http.MethodDelete, Path: path, Token: s.AdminToken(t)},
		answer: "204", repeated: "204", harmless: true,
		effects: auditRows("DeleteCustomerProfile", "profile/"+customer),
	}
}
