package guard_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// A refusal of the use case is a response like any other: a client that did not get it
// gets it when it retries, even when the command would succeed by now. A new key is a
// new attempt.
func TestGuard_ReplaysRefusalEvenWhenItsCauseIsGone(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, refusal := range e2e.GuardedRefusals() {
		t.Run(refusal.String(), func(t *testing.T) {
			t.Parallel()
			r := s.PrepareRefusal(t, refusal)
			key := r.NewKey()
			first := r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key))
			r.WantFirst(t, first, r.RefusedStatus)
			r.WantReplay(t, first, r.Send(t, r.WithKey(key)))
			r.WantEffects(t, 0)
			if r.Cure == nil {
				return
			}
			r.Cure()
			r.WantReplay(t, first, r.Send(t, r.WithKey(key)))
			r.WantEffects(t, 0)
			r.MustRun(t, r.NewKey())
		})
	}
}

func TestGuard_LeavesKeyFreeAfterInvalidRequest(t *testing.T) {
	t.Parallel()
	plainText := http.Header{"Content-Type": {"text/plain"}}
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			for name, invalid := range map[string]struct {
				body   string
				header http.Header
				status int
				code   string
			}{
				"not JSON":         {`{"amount"`, nil, http.StatusBadRequest, "malformed_request"},
				"duplicate member": {`{"a": 1, "a": 1}`, nil, http.StatusBadRequest, "malformed_request"},
				"unknown member":   {`{"surprise": true}`, nil, http.StatusUnprocessableEntity, "validation_failed"},
				"not an object":    {`[]`, nil, http.StatusUnprocessableEntity, "validation_failed"},
				"other media type": {`{}`, plainText, http.StatusUnsupportedMediaType, "unsupported_media_type"},
				"too large":        {`{"reason": "` + strings.Repeat("x", 65<<10) + `"}`, nil, http.StatusRequestEntityTooLarge, "body_too_large"},
			} {
				t.Run(name, func(t *testing.T) {
					call := c.WithKey(key).WithBody(invalid.body)
					call.Header = invalid.header
					c.WantNotGuarded(t, c.WantProblem(t, invalid.status, invalid.code, call))
				})
			}
			c.WantKeyFree(t, key)
		})
	}
}

// Permissions and resources can change: these refusals are not stored.
func TestGuard_LeavesKeyFreeAfterForbiddenOrNotFound(t *testing.T) {
	t.Parallel()
	status := map[string]int{"forbidden_resource": http.StatusForbidden, "not_found": http.StatusNotFound}
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			inWrongRole := c.WithKey(key).WithToken(c.Token(t, c.Subject, roleNotAdmitted(c.Operation)))
			c.WantNotGuarded(t, c.WantProblem(t, http.StatusForbidden, "forbidden_role", inWrongRole))
			for code, denied := range c.Denied {
				denied.Method, denied.Token, denied.Key = c.Call.Method, c.Call.Token, key
				c.WantNotGuarded(t, c.WantProblem(t, status[code], code, denied))
			}
			c.WantKeyFree(t, key)
		})
	}
}

// failure makes the database fail at one place of the guard's transaction.
type failure struct {
	breaks, repairs string
	status          int
	code            string
}

const (
	// failOnInsert fails a statement on the guard's table; %s is an SQLSTATE.
	failOnInsert = `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'out of order' USING ERRCODE = '%s'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON idempotency_record EXECUTE FUNCTION fail()`
	failAtCommit = `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
		CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON idempotency_record
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`
	failNoMore = `DROP TRIGGER fail ON idempotency_record`
)

var failures = map[string]failure{
	"at the claim": {
		"ALTER TABLE idempotency_record RENAME TO away", "ALTER TABLE away RENAME TO idempotency_record",
		http.StatusInternalServerError, "internal",
	},
	"in the writes of the command": {
		"ALTER TABLE outbox RENAME TO away", "ALTER TABLE away RENAME TO outbox",
		http.StatusInternalServerError, "internal",
	},
	"when the record is stored": {
		strings.Replace(failOnInsert, "%s", "P0001", 1), failNoMore, http.StatusInternalServerError, "internal",
	},
	"on a full disk": {
		strings.Replace(failOnInsert, "%s", "53100", 1), failNoMore, http.StatusServiceUnavailable, "unavailable",
	},
	"at COMMIT": {failAtCommit, failNoMore, http.StatusInternalServerError, "internal"},
}

// A failure of the service is not stored, wherever in the transaction it happens:
// nothing is done, and the same key runs as new when the database works again.
func TestGuard_LeavesKeyFreeAfterFailure(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2e.Start(t)
			commands := map[string]e2e.Command{} // by key
			for _, route := range e2e.GuardedRoutes() {
				commands[s.NewKey()] = s.Prepare(t, route)
			}
			s.Exec(t, failure.breaks)
			for key, c := range commands {
				c.WantNotGuarded(t, c.WantProblem(t, failure.status, failure.code, c.WithKey(key)))
				c.WantEffects(t, 0)
			}
			s.Exec(t, failure.repairs)
			for key, c := range commands {
				c.WantKeyFree(t, key)
			}
		})
	}
}
