package commands_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// A request without a key whose outcome is unknown may be repeated only where that changes
// nothing more.
func TestOutcomeUnknown_IsRetryableOnlyWithoutHarm(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	paid := e2e.StatusCall(s.SellerToken(t), s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1).ID, "fulfilling")
	put := s.PutProductCall(t, "coffee", e2e.Shop, e2e.Money{Amount: "5.00", Currency: "RUB"}, 1)
	profile := e2e.Call{Path: "/customers/" + e2e.Alice + "/profile", Token: s.CustomerToken(t)}
	update, remove := profile.WithBody(`{"full_name": "Alice", "email": "a@example.com", "phone": "+79990000000"}`), profile
	update.Method, remove.Method = http.MethodPut, http.MethodDelete
	for _, table := range []string{"orders", "product", "customer_profile"} {
		s.Exec(t, `CREATE FUNCTION end_`+table+`() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
		s.Exec(t, `CREATE CONSTRAINT TRIGGER end_at_commit AFTER INSERT OR UPDATE OR DELETE ON `+table+`
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_`+table+`()`)
	}
	s.Exec(t, `ALTER TABLE customer_profile DISABLE TRIGGER end_at_commit`)
	s.MustSend(t, update) // so that there is a profile to delete
	s.Exec(t, `ALTER TABLE customer_profile ENABLE TRIGGER end_at_commit`)

	for _, c := range []struct {
		e2e.Call
		retryable bool
	}{{paid, false}, {put, false}, {update, true}, {remove, true}} {
		r := s.WantProblem(t, http.StatusServiceUnavailable, "outcome_unknown", c.Call)
		if got := r.Header.Get("Retry-After") != ""; got != c.retryable {
			t.Errorf("%s %s: retryable is %t, want %t: %s", c.Method, c.Path, got, c.retryable, r.Body)
		}
	}
}
