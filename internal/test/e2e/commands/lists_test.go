// Package commands_test tests what the commands do: orders, payments, refunds, statuses,
// lists and error codes.
package commands_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The payment begins before the credit and locks the balance after it.
func TestListBalanceTransactions_BeginsWithTheLastChangeOfABalance(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1})
	s.Credit(t, e2e.Alice, "100000.00")
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	lock := s.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", o.ID)
	paid := make(chan e2e.Reply, 1)
	go func() { paid <- s.Send(t, s.ConfirmCall(t, e2e.Alice, o.ID)) }()
	lock.AwaitWaiter(t)
	s.Credit(t, e2e.Alice, "5.00")
	lock.Release()
	if r := <-paid; r.Status != http.StatusOK {
		t.Fatalf("the payment: %d %s", r.Status, r.Body)
	}

	list := e2e.Get(s.CustomerToken(t), "/customers/alice/balance/transactions")
	entries := e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, list).Data
	if kind := entries[0].Kind; kind != "payment" {
		t.Errorf("the list begins with a %s, want the payment", kind)
	}
	s.WantBalance(t, e2e.Alice, entries[0].BalanceAfter.Amount)
}

// A client that lost the answer finds its order by its own id of it, and by when it asked.
func TestListOrders_FindsByReferenceAndTime(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	for i, reference := range []string{"A-1", "A-2", "A-3"} {
		body := fmt.Sprintf(`{"reference": %q, "items": [{"sku": "tea", "quantity": 1}]}`, reference)
		o := e2e.Want[e2e.Order](t, s, http.StatusCreated, s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithBody(body))
		s.Exec(t, "UPDATE orders SET created_at = $2 WHERE id = $1", o.ID, time.Date(2026, time.November, 4, 9, 30, i, 5000, time.UTC))
	}
	const second = "2026-11-04T09:30:01.000005Z"
	for query, want := range map[string][]string{
		"reference=A-2":                      {"A-2"},
		"reference=A-2&status=paid":          nil,
		"created_from=" + second:             {"A-3", "A-2"},
		"created_to=" + second:               {"A-1"},
		"limit=1&created_from=" + second:     {"A-3"},
		"reference=A-2&created_to=" + second: nil,
	} {
		var got []string
		page := e2e.Want[e2e.Page[struct{ Reference string }]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/orders?"+query))
		for _, o := range page.Data {
			got = append(got, o.Reference)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}

// addRows adds a row to every list.
func addRows(t testing.TB, s *e2e.Service) {
	t.Helper()
	s.PutProduct(t, s.UniqueName("cup"), 1)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.Credit(t, e2e.Alice, "1.00")
	s.MustSend(t, e2e.Get(s.AdminToken(t), "/orders?limit=1")) // adds an audit entry
}

// readPage returns an identifier for each row of a page, and the query of the next page.
func readPage(t testing.TB, s *e2e.Service, list, query string) (rows []string, next string) {
	t.Helper()
	token := s.CustomerToken(t)
	if list == "/admin/audit-log" {
		token = s.AdminToken(t)
	}
	page := e2e.Want[e2e.Page[struct {
		ID  int
		SKU string
	}]](t, s, http.StatusOK, e2e.Get(token, list+query))
	for _, row := range page.Data {
		rows = append(rows, fmt.Sprint(row.ID, row.SKU))
	}
	if page.NextCursor != nil {
		next = "?limit=3&cursor=" + url.QueryEscape(*page.NextCursor)
	}
	return rows, next
}

// Newer rows come before the first page: all pages together are the list as it was.
func TestPages_AreConsistentWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"/orders", "/products", "/customers/alice/balance/transactions", "/admin/audit-log"} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			const rows = 22
			s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
			for range rows {
				addRows(t, s)
			}
			read, next := readPage(t, s, list, "?limit=3")
			if len(read) != 3 {
				t.Errorf("%d rows on a page of 3", len(read))
			}
			for next != "" {
				var page []string
				addRows(t, s)
				page, next = readPage(t, s, list, next)
				read = append(read, page...)
			}
			later, _ := readPage(t, s, list, "?limit=100")
			if diff := cmp.Diff(later[max(0, len(later)-len(read)):], read); diff != "" || len(read) < rows {
				t.Errorf("%d rows on the pages, which are not the end of the list (-list +pages):\n%s", len(read), diff)
			}
			if byDefault, _ := readPage(t, s, list, ""); len(byDefault) != 20 {
				t.Errorf("%d rows on a page without a limit, want 20", len(byDefault))
			}
		})
	}
}

// What the reads show after each kind of command. That only its owner may read it is a test
// of every route: TestAccess_DependsOnRoleAndOwner.
func TestReads_ShowEveryCommand(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	customer, admin := s.CustomerToken(t), s.AdminToken(t)
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.OrderCommand(customer, o.ID, "payment/refund",
		`{"amount": {"amount": "30.00", "currency": "RUB"}, "reason": "one was broken"}`))
	charge := e2e.Want[e2e.Transaction](t, s, http.StatusCreated, s.ChargeCall(t, e2e.Alice, "5.00").WithToken(admin))
	adjustment := e2e.Want[e2e.StockAdjustment](t, s, http.StatusCreated,
		s.AdjustStockCall(s.SellerToken(t), "tea", -4).WithBody(`{"change": -4, "reason": "a count"}`))

	want := []e2e.Payment{{
		ID: refund.PaymentID, OrderID: o.ID, Amount: e2e.Roubles("100.00"), Refunded: e2e.Roubles("30.00"),
		Status: "captured", Refunds: []e2e.Refund{{
			ID: refund.ID, PaymentID: refund.PaymentID, OrderID: o.ID, Amount: e2e.Roubles("30.00"),
			Status: "succeeded", Reason: "one was broken", MadeBy: "api",
		}},
	}}
	if diff := cmp.Diff(want, s.ReadPayments(t, o.ID)); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
	if a := adjustment; a.SKU != "tea" || a.Change != -4 || a.OnHand != 5 || a.Reason == nil || *a.Reason != "a count" {
		t.Errorf("the adjustment is %+v", a)
	}
	var got []string
	for _, m := range e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, e2e.Get(customer, "/customers/alice/balance/transactions")).Data {
		got = append(got, fmt.Sprintf("%s %s, %s after it", m.Kind, m.Amount.Amount, m.BalanceAfter.Amount))
	}
	entries := []string{
		"charge 5.00, 25.00 after it", "refund 30.00, 30.00 after it", "payment 100.00, 0.00 after it", "credit 100.00, 100.00 after it",
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Errorf("balance transactions (-want +got):\n%s", diff)
	}
	log := e2e.Want[e2e.Page[e2e.AuditEntry]](t, s, http.StatusOK, e2e.Get(admin, "/admin/audit-log")).Data
	for i := range log {
		log[i].ID = 0
	}
	if diff := cmp.Diff([]e2e.AuditEntry{{Actor: e2e.Root, Action: "ChargeBalance", Resource: "balance/alice", Metadata: map[string]string{
		"customer_id": e2e.Alice, "currency": "RUB", "amount": "5.00", "balance_transaction_id": fmt.Sprint(charge.ID), "balance_after": "25.00",
	}}}, log); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// maxFrames bounds the calls of this repository that a request passes from the server to a
// store. Each is a hop for readers and a line in every stack. A command whose row is held
// for long runs outside its lane, where there are more.
const maxFrames, maxFramesOutside = 22, 27

func TestConfirmPayment_LeavesFewFramesBetweenServerAndStore(t *testing.T) {
	t.Parallel()
	shop := e2e.StartShop(t, e2e.Stock{"tea": 1})
	shop.Credit(t, "ann", "100.00")
	order := shop.MustCreateOrder(t, "ann", "tea", 1)
	row := shop.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
	var paying sync.WaitGroup
	paying.Go(func() { shop.Send(t, shop.ConfirmCall(t, "ann", order.ID)) })
	var frames []string
	e2e.Eventually(t, "a payment waits in a store", func() bool {
		frames = framesToStore()
		return frames != nil
	})
	row.Release()
	paying.Wait()
	most, all := maxFrames, strings.Join(frames, "\n")
	if strings.Contains(all, ".runOutside(") {
		most = maxFramesOutside
	}
	if len(frames) > most {
		t.Errorf("%d frames, want at most %d:\n%s", len(frames), most, all)
	}
}

// framesToStore returns the frames of a payment that a store answers now, the store first, or
// nil if there is none. Other tests send requests too.
func framesToStore() []string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		frames := slices.DeleteFunc(strings.Split(stack, "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "example.com/orders/")
		})
		useCase := slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, "/internal/core/") })
		if useCase > 0 && strings.Contains(frames[useCase-1], "/internal/adapters/out/") &&
			strings.Contains(stack, ").ConfirmPayment(") && strings.Contains(stack, "net/http.(*conn).serve") {
			return frames[useCase-1:]
		}
	}
	return nil
}

// putProfileCall is the call that replaces the profile of Alice.
func putProfileCall(token, fullName string) e2e.Call {
	return e2e.Call{Method: http.MethodPut, Path: "/customers/alice/profile", Token: token, Body: fmt.Sprintf(
		`{"full_name": %q, "email": "alice@example.com", "phone": "+79990000001"}`, fullName)}
}

// deleteProfileCall is the call that deletes the profile of Alice.
func deleteProfileCall(token string) e2e.Call {
	return e2e.Call{Method: http.MethodDelete, Path: "/customers/alice/profile", Token: token}
}

// What is planted in the profiles of the test. Each is a word of its own in any encoding.
const (
	plantedName  = "Plantedname"
	plantedEmail = "planted-address"
	plantedPhone = "+79990001234"
)

func plantedProfileCall(token, customer, suffix string) e2e.Call {
	return e2e.Call{Method: http.MethodPut, Path: "/customers/" + customer + "/profile", Token: token, Body: fmt.Sprintf(
		`{"full_name": %q, "email": %q, "phone": %q}`, plantedName+suffix, plantedEmail+suffix+"@example.com", plantedPhone+suffix)}
}

// wantFoundIn checks which tables contain the planted texts in any column. The statistics
// of the planner count as one. A column of bytes shows its text as hexadecimal digits.
func wantFoundIn(t *testing.T, s *e2e.Service, want ...string) {
	t.Helper()
	for _, planted := range []string{plantedName, plantedEmail, plantedPhone} {
		rows, _ := s.DB.Query(t.Context(), `SELECT relation, (xpath('/row/n/text()', query_to_xml(format(
				'SELECT count(*) AS n FROM %s r WHERE strpos(r::text, %L) > 0 OR strpos(r::text, %L) > 0',
				relation, $1::text, encode(convert_to($1::text, 'UTF8'), 'hex')), true, true, '')))[1]::text::int
			FROM (SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
				WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
				UNION ALL SELECT 'pg_stats') relations (relation)`, planted)
		searched, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			Relation string
			Found    int
		}])
		if err != nil || len(searched) < 20 {
			t.Fatalf("only %d tables were searched: %v", len(searched), err)
		}
		var found []string
		for _, table := range searched {
			if table.Found > 0 {
				found = append(found, table.Relation)
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("tables that contain %s (-want +got):\n%s", planted, diff)
		}
	}
}

// Everything that handles a profile happens, also what fails. Then the profiles are
// deleted.
func TestDeleteProfile_LeavesNoPersonalData(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	customers := []string{e2e.Alice, "bob", "carol"} // several, so that there are statistics
	for i, name := range customers {
		suffix := fmt.Sprint(i)
		own := s.Token(t, name, "customer")
		s.MustSend(t, plantedProfileCall(own, name, suffix))
		s.MustSend(t, plantedProfileCall(s.AdminToken(t), name, suffix+"1"))
		s.MustSend(t, e2e.Get(s.AdminToken(t), "/customers/"+name+"/profile"))
		s.WantProblem(t, http.StatusForbidden, "forbidden_resource", plantedProfileCall(s.Token(t, e2e.Mallory, "customer"), name, suffix))
		refused := plantedProfileCall(own, name, suffix)
		s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", refused.WithBody(`{"planted": `+refused.Body+`}`))
	}
	s.Exec(t, "ANALYZE")
	wantFoundIn(t, s, "customer_profile")
	for _, name := range customers {
		s.MustSend(t, e2e.Call{Method: http.MethodDelete, Path: "/customers/" + name + "/profile", Token: s.Token(t, name, "customer")})
	}
	wantFoundIn(t, s)
}

// Deletions wait for the row of the profile. Only one of them finds it.
func TestDeleteProfile_IsAuditedOnceWhenConcurrent(t *testing.T) {
	t.Parallel()
	const deletions = 3
	s := e2e.Start(t)
	s.MustSend(t, putProfileCall(s.CustomerToken(t), "Alice"))
	lock := s.LockRows(t, "SELECT FROM customer_profile WHERE customer_id = 'alice' FOR UPDATE")
	go func() {
		s.AwaitBlocked(t, deletions)
		lock.Release()
	}()
	var calls []e2e.Call
	for range deletions {
		calls = append(calls, deleteProfileCall(s.AdminToken(t)))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"204": deletions})
	if n := s.Count(t, "SELECT count(*) FROM audit_log"); n != 1 {
		t.Errorf("one profile was deleted, and the audit log has %d entries", n)
	}
}
