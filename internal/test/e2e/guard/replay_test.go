package guard_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
)

// Every operation that takes a key is in the table of routes, so that the tests of the
// guard hold for it.
func TestGuard_IsTestedForEveryOperationThatTakesAKey(t *testing.T) {
	t.Parallel()
	guarded := e2e.GuardedRoutes()
	for _, op := range contracttest.New(t).Operations() {
		if op.Idempotent && len(e2e.Routes[op.ID].Refusals) == 0 {
			t.Errorf("%s takes a key, and the table of routes has no refusals of it", op.ID)
		}
		if !op.Idempotent && slices.Contains(guarded, op.ID) {
			t.Errorf("%s takes no key, and the table of routes has refusals of it", op.ID)
		}
	}
}

func TestGuard_ReplaysFirstResponseByteForByte(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			if got := first.Header.Get("Idempotency-Key"); got != key {
				t.Errorf("the response echoes the key %q, want %q", got, key)
			}
			if created := first.Header.Get("Location") != ""; created != (c.Operation.ID == "createOrder") {
				t.Errorf("Location is %q", first.Header.Get("Location"))
			}
			for range 2 {
				c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
				c.WantReplay(t, first, there.Send(t, c.WithKey(key)))
			}
			c.WantEffects(t, 1)
		})
	}
}

// The meaning of a body counts, not its spelling.
func TestGuard_ReplaysWhenBodyIsSpelledDifferently(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			for name, body := range spellings(t, c.Call.Body) {
				t.Run(name, func(t *testing.T) {
					c.WantReplay(t, first, c.Send(t, c.WithKey(key).WithBody(body)))
				})
			}
			c.WantEffects(t, 1)
		})
	}
}

// spellings returns other texts of the same JSON object.
func spellings(t testing.TB, body string) map[string]string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"sorted members": string(sorted), // the bodies of the table are not sorted
		"white space":    "\r\n" + strings.NewReplacer("{", "{ \n", "}", "\t}", ",", " ,  ").Replace(body) + " ",
		"escaped letters": regexp.MustCompile(`"[a-z]`).ReplaceAllStringFunc(body, func(s string) string {
			return fmt.Sprintf(`"\u%04X`, s[1])
		}),
		"escaped slashes": strings.ReplaceAll(body, "/", `\/`),
	}
	if body == "{}" {
		all["no body"] = ""
	}
	maps.DeleteFunc(all, func(_, other string) bool { return other == body })
	return all
}

// Numbers are compared by value, in their canonical form (RFC 8785).
func TestGuard_ReplaysWhenNumberIsWrittenDifferently(t *testing.T) {
	t.Parallel()
	c := e2e.Start(t).Prepare(t, "createOrder")
	key := c.NewKey()
	first := c.MustRun(t, key)
	for _, number := range []string{"2.0", "2e0", "20E-1", "0.2e+1"} {
		body := strings.Replace(c.Call.Body, `"quantity": 2`, `"quantity": `+number, 1)
		if body == c.Call.Body {
			t.Fatal("the body has no quantity of 2")
		}
		c.WantReplay(t, first, c.Send(t, c.WithKey(key).WithBody(body)))
	}
	c.WantEffects(t, 1)
}

func TestGuard_ReplaysToNewTokenOfPrincipal(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			newToken := c.Token(t, c.Subject, c.Role)
			if newToken == c.Call.Token {
				t.Fatal("the token is the same")
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key).WithToken(newToken)))
			c.WantEffects(t, 1)
		})
	}
}

// A key belongs to its principal: the same request with the same key of somebody else
// is another operation.
func TestGuard_SeparatesPrincipals(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			ofPeer := c.WithKey(key).WithToken(c.Peer)
			r := c.Send(t, ofPeer)
			if r.Status != c.PeerStatus || r.Header.Get("Idempotent-Replayed") != "" || string(r.Body) == string(first.Body) {
				t.Errorf("the other principal got %d %v %s, want a new %d", r.Status, r.Header, r.Body, c.PeerStatus)
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			if c.PeerStatus/100 == 2 {
				c.WantReplay(t, r, c.Send(t, ofPeer))
			}
		})
	}
}

// Who may no longer send the command does not get its response either.
func TestGuard_ChecksTokenBeforeReplay(t *testing.T) {
	t.Parallel()
	const unauthorized, forbidden = http.StatusUnauthorized, http.StatusForbidden
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			expired, err := c.Issuer.Token(c.Subject, []string{c.Role}, -time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			truncated := c.Call.Token[:len(c.Call.Token)-8]
			for name, want := range map[string]struct {
				token  string
				status int
				code   string
			}{
				"no token":          {"", unauthorized, "unauthenticated"},
				"expired token":     {expired, unauthorized, "unauthenticated"},
				"truncated token":   {truncated, unauthorized, "unauthenticated"},
				"no role":           {c.Token(t, c.Subject), forbidden, "forbidden_role"},
				"role not admitted": {c.Token(t, c.Subject, roleNotAdmitted(c.Operation)), forbidden, "forbidden_role"},
			} {
				t.Run(name, func(t *testing.T) {
					r := c.WantProblem(t, want.status, want.code, c.WithKey(key).WithToken(want.token))
					c.WantNotGuarded(t, r)
					if r.Header.Get("Idempotency-Expires") != "" || r.Header.Get("Location") != "" {
						t.Errorf("the refusal has headers of the stored response: %v", r.Header)
					}
				})
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			c.WantEffects(t, 1)
		})
	}
}

// roleNotAdmitted returns a role that may not use an operation.
func roleNotAdmitted(op contracttest.Operation) string {
	for _, role := range []string{"customer", "seller", "admin", "system"} {
		if !slices.Contains(op.Roles, role) {
			return role
		}
	}
	panic(op.ID + " admits every role")
}
