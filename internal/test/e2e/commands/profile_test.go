package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
)

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
