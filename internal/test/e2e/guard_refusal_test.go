package e2e_test

import (
	"net/http"
	"strings"
	"testing"
)

// A refusal by the use case is an answer like any other: the client that did not hear
// it hears it again, even when the command would succeed by now. A new key asks anew.
func TestGuardReplaysRefusalsEvenWhenTheirCauseIsGone(t *testing.T) {
	t.Parallel()
	eachRefusal(t, newService(t), func(r refusal) {
		key := r.newKey()
		first := r.wantProblem(r.refused, r.code, r.with(key))
		r.wantFirst(first, r.refused)
		r.wantReplay(first, r.send(r.with(key)))
		r.wantEffects(0)
		if r.cure == nil {
			return
		}
		r.cure()
		r.wantReplay(first, r.send(r.with(key)))
		r.wantEffects(0)
		r.run(r.newKey())
	})
}

func TestGuardLeavesTheKeyOfAnInvalidRequestFree(t *testing.T) {
	t.Parallel()
	plain := http.Header{"Content-Type": {"text/plain"}}
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		for name, invalid := range map[string]struct {
			body   string
			header http.Header
			status int
			code   string
		}{
			"no JSON":           {`{"amount"`, nil, http.StatusBadRequest, "malformed_request"},
			"a member twice":    {`{"a": 1, "a": 1}`, nil, http.StatusBadRequest, "malformed_request"},
			"an unknown member": {`{"surprise": true}`, nil, http.StatusUnprocessableEntity, "validation_failed"},
			"no object":         {`[]`, nil, http.StatusUnprocessableEntity, "validation_failed"},
			"no JSON announced": {`{}`, plain, http.StatusUnsupportedMediaType, "unsupported_media_type"},
			"too large a body":  {`{"reason": "` + strings.Repeat("x", 65<<10) + `"}`, nil, http.StatusRequestEntityTooLarge, "body_too_large"},
		} {
			c.sub(name, func(c scene) {
				asked := c.with(key)
				asked.body, asked.header = invalid.body, invalid.header
				c.wantOutcome(c.wantProblem(invalid.status, invalid.code, asked), "", "")
			})
		}
		c.wantFree(key)
	})
}

// Who may do what, and what there is, can change: these refusals are not kept.
func TestGuardLeavesTheKeyOfAForbiddenOrMissingThingFree(t *testing.T) {
	t.Parallel()
	status := map[string]int{
		"forbidden_role":     http.StatusForbidden,
		"forbidden_resource": http.StatusForbidden,
		"not_found":          http.StatusNotFound,
	}
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		refuse := func(code string, asked call) {
			asked.method, asked.key = c.call.method, key
			c.wantOutcome(c.wantProblem(status[code], code, asked), "", "")
		}
		asked := c.call
		asked.token = c.token(c.subject, closedTo(c.operation))
		refuse("forbidden_role", asked)
		for code, asked := range c.turnedAway {
			asked.token = c.call.token
			refuse(code, asked)
		}
		c.wantFree(key)
	})
}

// A failure of ours is not kept, wherever in the transaction it happens: nothing is done,
// and the same key runs as new when the trouble is over.
func TestGuardLeavesTheKeyOfAFailureFree(t *testing.T) {
	t.Parallel()
	const (
		guardFails = `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'out of order' USING ERRCODE = '%'; END $$;
			CREATE TRIGGER fail BEFORE INSERT ON idempotency_record EXECUTE FUNCTION fail()`
		guardMends = `DROP TRIGGER fail ON idempotency_record`
	)
	for name, failure := range map[string]struct {
		breaks, mends string
		status        int
		code          string
	}{
		"at the claim": {
			"ALTER TABLE idempotency_record RENAME TO away", "ALTER TABLE away RENAME TO idempotency_record",
			http.StatusInternalServerError, "internal",
		},
		"in the command's writes": {
			"ALTER TABLE outbox RENAME TO away", "ALTER TABLE away RENAME TO outbox",
			http.StatusInternalServerError, "internal",
		},
		"when the record is stored": {
			strings.Replace(guardFails, "%", "P0001", 1), guardMends,
			http.StatusInternalServerError, "internal",
		},
		"on a full disk": {
			strings.Replace(guardFails, "%", "53100", 1), guardMends,
			http.StatusServiceUnavailable, "unavailable",
		},
		"at COMMIT": {
			`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
			CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON idempotency_record
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`, guardMends,
			http.StatusInternalServerError, "internal",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			keys := map[string]scene{} // by key
			for id := range guardedRoutes {
				keys[s.newKey()] = s.scene(id)
			}
			s.exec(failure.breaks)
			for key, c := range keys {
				r := c.wantProblem(failure.status, failure.code, c.with(key))
				c.wantOutcome(r, "", "")
				c.wantEffects(0)
			}
			s.exec(failure.mends)
			for key, c := range keys {
				c.wantFree(key)
			}
		})
	}
}

// What a connection that died had begun, the database has forgotten.
func TestGuardLeavesTheKeyFreeWhenTheConnectionDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eachGuardedRoute(t, w.replica(w.roomy()), func(c scene) {
		key := c.newKey()
		row := c.hold(c.locks)
		first := c.sendAll([]call{c.with(key)}, c.service)
		row.awaitWaiter()
		row.killWaiters()
		r := first.join()[0]
		if r.status != http.StatusServiceUnavailable || r.code() != "unavailable" {
			c.Errorf("got %d %s, want 503 unavailable", r.status, r.body)
		}
		c.wantOutcome(r, "", "")
		row.release()
		c.wantFree(key)
	})
}
