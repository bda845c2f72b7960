package guard_test

import (
	"net/http"
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
			if r.Cure != nil {
				r.Cure()
			}
			r.WantReplay(t, first, r.Send(t, r.WithKey(key)))
			r.WantEffects(t, 0)
			if r.Cure != nil {
				r.MustRun(t, r.NewKey())
			}
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
