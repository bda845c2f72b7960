package commands_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

const profilePath = "/customers/alice/profile"

// deleteProfileCall is the call that deletes the profile of Alice.
func deleteProfileCall(token string) e2e.Call {
	return e2e.Call{Method: http.MethodDelete, Path: profilePath, Token: token}
}

// wantDeleted sends a call that must be answered with 204 and nothing else.
func wantDeleted(t *testing.T, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.Send(t, c)
	if r.Status != http.StatusNoContent || len(r.Body) > 0 || r.Header.Get("Content-Type") != "" {
		t.Errorf("%s %s: %d %v %q, want 204 without a body", c.Method, c.Path, r.Status, r.Header, r.Body)
	}
}

func TestDeleteProfile_CanBeRepeatedAndUndone(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	wantDeleted(t, s, deleteProfileCall(s.CustomerToken(t))) // there is none yet
	for _, token := range []string{s.CustomerToken(t), s.AdminToken(t)} {
		wantProfile(t, s, "Alice", putProfileCall(s.CustomerToken(t), "Alice"))
		wantDeleted(t, s, deleteProfileCall(token))
		wantDeleted(t, s, deleteProfileCall(token))
		s.WantProblem(t, http.StatusNotFound, "not_found", e2e.Get(s.CustomerToken(t), profilePath))
	}
	if n := s.Count(t, "SELECT count(*) FROM audit_log"); n != 1 {
		t.Errorf("an administrator deleted one profile, and the audit log has %d entries", n)
	}
	wantLastAuditEntry(t, s, e2e.Root, "DeleteCustomerProfile", "profile/alice")
	s.WantProblem(t, http.StatusForbidden, "forbidden_resource", deleteProfileCall(s.Token(t, e2e.Mallory, "customer")))
	s.WantProblem(t, http.StatusForbidden, "forbidden_role", deleteProfileCall(s.SystemToken(t)))
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

// whereIs returns the tables that contain a text in any column, and the statistics of the
// planner. A column of bytes shows its text as hexadecimal digits.
func whereIs(t *testing.T, s *e2e.Service, text string) []string {
	t.Helper()
	rows, err := s.DB.Query(t.Context(), `SELECT relation, (xpath('/row/n/text()', query_to_xml(format(
			'SELECT count(*) AS n FROM %s r WHERE strpos(r::text, %L) > 0 OR strpos(r::text, %L) > 0',
			relation, $1::text, encode(convert_to($1::text, 'UTF8'), 'hex')), true, true, '')))[1]::text::int
		FROM (SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
			UNION ALL SELECT 'pg_stats') relations (relation)`, text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]bool{}
	tables := 0
	for rows.Next() {
		var relation string
		var n int
		if err := rows.Scan(&relation, &n); err != nil {
			t.Fatal(err)
		}
		tables++
		if n > 0 {
			found[relation] = true
		}
	}
	if rows.Err() != nil || tables < 20 {
		t.Fatalf("only %d tables were searched: %v", tables, rows.Err())
	}
	return slices.Sorted(maps.Keys(found))
}

// wantFoundIn checks where the planted texts are.
func wantFoundIn(t *testing.T, s *e2e.Service, when string, tables ...string) {
	t.Helper()
	for _, planted := range []string{plantedName, plantedEmail, plantedPhone} {
		if diff := cmp.Diff(tables, whereIs(t, s, planted)); diff != "" {
			t.Errorf("%s, tables that contain %s (-want +got):\n%s", when, planted, diff)
		}
	}
}

// Everything that handles a profile happens, also what fails. Then the profiles are
// deleted.
func TestDeleteProfile_LeavesNoPersonalData(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	customers := []string{e2e.Alice, "bob", "carol"} // several, so that there are statistics
	for i, name := range customers {
		suffix := fmt.Sprint(i)
		own := s.Token(t, name, "customer")
		s.MustSend(t, plantedProfileCall(own, name, suffix))
		s.MustSend(t, plantedProfileCall(s.AdminToken(t), name, suffix+"1"))
		s.MustSend(t, e2e.Get(s.AdminToken(t), "/customers/"+name+"/profile"))
		s.WantProblem(t, http.StatusForbidden, "forbidden_resource", plantedProfileCall(s.Token(t, e2e.Mallory, "customer"), name, suffix))
		refused := plantedProfileCall(own, name, suffix)
		refused.Body = `{"planted": ` + refused.Body + `}`
		s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", refused)
	}
	s.Exec(t, "ANALYZE")
	wantFoundIn(t, s, "before", "customer_profile")
	for _, name := range customers {
		c := deleteProfileCall(s.Token(t, name, "customer"))
		c.Path = "/customers/" + name + "/profile"
		wantDeleted(t, s, c)
	}
	wantFoundIn(t, s, "afterwards")
	wantOrdersGoOn(t, s, o)
}

// wantOrdersGoOn checks that orders and ledger of Alice need no profile.
func wantOrdersGoOn(t *testing.T, s *e2e.Service, paid e2e.Order) {
	t.Helper()
	if diff := cmp.Diff(paid, s.ReadOrder(t, paid.ID)); diff != "" {
		t.Errorf("the order (-before +after):\n%s", diff)
	}
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.CustomerToken(t), paid.ID, "40.00"))
	s.WantBalance(t, e2e.Alice, "40.00")
	s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	page := e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/customers/alice/balance/transactions"))
	if len(page.Data) != 5 { // two credits, two payments, one refund
		t.Errorf("%d balance transactions, want 5: %+v", len(page.Data), page.Data)
	}
}

// Deletions wait for the row of the profile. Only one of them finds it.
func TestDeleteProfile_IsAuditedOnceWhenConcurrent(t *testing.T) {
	t.Parallel()
	const deletions = 3
	s := e2e.StartShop(t, nil)
	wantProfile(t, s, "Alice", putProfileCall(s.CustomerToken(t), "Alice"))
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

// Whichever is first, there is the new profile at the end, or none.
func TestDeleteProfile_RacesUpdate(t *testing.T) {
	t.Parallel()
	a, b := e2e.StartTwoReplicas(t, nil)
	token := a.CustomerToken(t)
	ends := tally{}
	for range raceRounds {
		wantProfile(t, a, "Alice", putProfileCall(token, "Alice"))
		r := e2e.SendTogether(t, a.Request(putProfileCall(token, "Alice A.")), b.Request(deleteProfileCall(token)))
		wantOneOf(t, "update", r[0], "200")
		wantOneOf(t, "delete", r[1], "204")
		left := a.Send(t, e2e.Get(token, profilePath))
		ends.add(left)
		if left.Status == http.StatusOK {
			wantProfile(t, a, "Alice A.", e2e.Get(token, profilePath))
		} else {
			wantOneOf(t, "read", left, "404 not_found")
		}
	}
	ends.log(t)
}
