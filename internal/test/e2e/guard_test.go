package e2e_test

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

	"github.com/google/go-cmp/cmp"

	contracttest "example.com/orders/internal/test/contract"
)

// Every command that the contract guards has its place in the table of scenes, so that
// the tests of the guard hold for it.
func TestGuardHasScenesForEveryGuardedRoute(t *testing.T) {
	t.Parallel()
	operations := guarded(contracttest.New(t))
	for id := range operations {
		if route := guardedRoutes[id]; route.scene == nil || len(route.refusals) == 0 {
			t.Errorf("%s is guarded and has no scenes", id)
		}
	}
	for id := range guardedRoutes {
		if _, ok := operations[id]; !ok {
			t.Errorf("%s has scenes and is not guarded", id)
		}
	}
}

func TestGuardReplaysTheAnswerByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := w.replica(), w.replica() // which has to read what here wrote
	eachGuardedRoute(t, here, func(c scene) {
		key := c.newKey()
		first := c.run(key)
		if got := first.header.Get("Idempotency-Key"); got != key {
			c.Errorf("the answer echoes the key %q, want %q", got, key)
		}
		if created := first.header.Get("Location") != ""; created != (c.operation.ID == "createOrder") {
			c.Errorf("Location is %q", first.header.Get("Location"))
		}
		for range 2 {
			c.wantReplay(first, c.send(c.with(key)))
			c.wantReplay(first, there.in(c).send(c.with(key)))
		}
		c.wantEffects(1)
	})
}

// A request is what it asks for, not how it is spelled.
func TestGuardKnowsTheSameRequestInOtherWords(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		for name, body := range spellings(c, c.call.body) {
			c.sub(name, func(c scene) {
				again := c.with(key)
				again.body = body
				c.wantReplay(first, c.send(again))
			})
		}
		c.wantEffects(1)
	})
}

// spellings gives other bodies that say the same as a JSON object.
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
	// The tables write members in another order than this one, wherever there are two.
	all := map[string]string{
		"member order": string(sorted),
		"white space":  "\r\n" + strings.NewReplacer("{", "{ \n", "}", "\t}", ",", " ,  ").Replace(body) + " ",
		"escapes": regexp.MustCompile(`"[a-z]`).ReplaceAllStringFunc(body, func(s string) string {
			return fmt.Sprintf(`"\u%04X`, s[1])
		}),
		"escaped slashes": strings.ReplaceAll(body, "/", `\/`),
	}
	if body == "{}" {
		all["no body at all"] = ""
	}
	maps.DeleteFunc(all, func(_, other string) bool { return other == body })
	return all
}

// Numbers are compared by value, as their canonical form (RFC 8785) says.
func TestGuardKnowsTheSameNumberInOtherNotation(t *testing.T) {
	t.Parallel()
	c := newService(t).scene("createOrder")
	key := c.newKey()
	first := c.run(key)
	for _, number := range []string{"2.0", "2e0", "20E-1", "0.2e+1"} {
		again := c.with(key)
		again.body = strings.Replace(again.body, `"quantity": 2`, `"quantity": `+number, 1)
		if again.body == c.call.body {
			t.Fatal("the quantity was not found")
		}
		c.wantReplay(first, c.send(again))
	}
	c.wantEffects(1)
}

func TestGuardRefusesAnotherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		for name, change := range map[string]struct {
			call call
			skip bool
		}{
			"body":                     {call{path: c.call.path, body: c.other}, c.other == ""},
			"path":                     {call{path: c.elsewhere, body: c.call.body}, c.elsewhere == ""},
			"query":                    {call{path: c.call.path + "?dry_run=1", body: c.call.body}, false},
			"empty value in the query": {call{path: c.call.path + "?x", body: c.call.body}, false},
		} {
			if change.skip {
				continue // there is no such request
			}
			c.sub("another "+name, func(c scene) {
				asked := c.with(key)
				asked.path, asked.body = change.call.path, change.call.body
				c.wantReused(asked)
			})
		}
		c.wantEffects(1)
		c.wantReplay(first, c.send(c.with(key)))
	})
}

func TestGuardRefusesTheSameItemsInAnotherOrder(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.putProduct("cup", 10)
	asked := s.orderCall(alice, "tea", 1, s.newKey())
	asked.body = `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "cup", "quantity": 1}]}`
	want[orderBody](s, http.StatusCreated, asked)
	asked.body = `{"items": [{"sku": "cup", "quantity": 1}, {"sku": "tea", "quantity": 1}]}`
	s.wantReused(asked)
}

// wantReused sends a request whose key belongs to another one. The answer says that and
// not a word about the other: neither its body nor when it expires.
func (s *service) wantReused(asked call) {
	s.Helper()
	r := s.wantProblem(http.StatusConflict, "idempotency_key_reused", asked)
	var problem map[string]any
	if err := json.Unmarshal(r.body, &problem); err != nil {
		s.Fatal(err)
	}
	path, _, _ := strings.Cut(asked.path, "?")
	if diff := cmp.Diff(map[string]any{
		"type":       "https://orders.example.com/problems/idempotency_key_reused",
		"title":      "The Idempotency-Key belongs to another request",
		"status":     409.0,
		"detail":     "this Idempotency-Key was used for another request",
		"instance":   path,
		"code":       "idempotency_key_reused",
		"request_id": r.header.Get("X-Request-Id"),
		"retryable":  false,
	}, problem); diff != "" {
		s.Errorf("the problem: %s", diff)
	}
	for _, name := range []string{"Retry-After", "Location", "Idempotency-Expires", "Idempotency-Result", "Idempotent-Replayed"} {
		if got := r.header.Get(name); got != "" {
			s.Errorf("%s is %q, want none", name, got)
		}
	}
}

// A key that served one command serves no other, even where the same principal may
// give both.
func TestGuardRefusesAnotherRouteUnderTheKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	eachGuardedRoute(t, s, func(c scene) {
		key := c.newKey()
		first := c.run(key)
		for id := range guardedRoutes {
			if id == c.operation.ID {
				continue
			}
			c.sub(id, func(c scene) {
				another := c.scene(id)
				asked := another.with(key)
				asked.token = another.token(c.subject, "customer", "seller", "admin", "system")
				another.wantReused(asked)
				another.wantEffects(0)
			})
		}
		c.wantReplay(first, c.send(c.with(key)))
		c.wantEffects(1)
	})
}

func TestGuardAnswersNoOtherMethodUnderTheKey(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		for _, method := range []string{"PUT", "PATCH", "DELETE"} {
			asked := c.with(key)
			asked.method = method
			r := c.wantProblem(http.StatusMethodNotAllowed, "method_not_allowed", asked)
			c.wantOutcome(r, "", "")
		}
		c.wantReplay(first, c.send(c.with(key)))
		c.wantEffects(1)
	})
}

// The key belongs to the principal: the very same request with the very same key is
// another operation when another one sends it.
func TestGuardKeepsPrincipalsApart(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		asked := c.with(key)
		asked.token = c.peer
		theirs := c.send(asked)
		if theirs.status != c.peerStatus || theirs.header.Get("Idempotent-Replayed") != "" || string(theirs.body) == string(first.body) {
			c.Errorf("the other principal got %d %v %s, want a new %d", theirs.status, theirs.header, theirs.body, c.peerStatus)
		}
		c.wantReplay(first, c.send(c.with(key)))
		if c.peerStatus/100 == 2 {
			c.wantReplay(theirs, c.send(asked))
		}
	})
}

func TestGuardReplaysToANewTokenOfThePrincipal(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		again := c.with(key)
		again.token = c.token(c.subject, c.role)
		if again.token == c.call.token {
			c.Fatal("the token is not a new one")
		}
		c.wantReplay(first, c.send(again))
		c.wantEffects(1)
	})
}

// Whoever may no longer give the command does not get its answer either.
func TestGuardChecksTheTokenBeforeItReplays(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		expired, err := c.issuer.Token(c.subject, []string{c.role}, -time.Hour)
		if err != nil {
			c.Fatal(err)
		}
		cut := c.call.token[:len(c.call.token)-8]
		for name, refused := range map[string]struct {
			token  string
			status int
			code   string
		}{
			"no token":         {"", http.StatusUnauthorized, "unauthenticated"},
			"an expired token": {expired, http.StatusUnauthorized, "unauthenticated"},
			"a broken token":   {cut, http.StatusUnauthorized, "unauthenticated"},
			"no role":          {c.token(c.subject), http.StatusForbidden, "forbidden_role"},
			"another role":     {c.token(c.subject, closedTo(c.operation)), http.StatusForbidden, "forbidden_role"},
		} {
			c.sub(name, func(c scene) {
				asked := c.with(key)
				asked.token = refused.token
				r := c.wantProblem(refused.status, refused.code, asked)
				c.wantOutcome(r, "", "")
				if r.header.Get("Idempotency-Expires") != "" || r.header.Get("Location") != "" {
					c.Errorf("the refusal tells of the stored answer: %v", r.header)
				}
			})
		}
		c.wantReplay(first, c.send(c.with(key)))
		c.wantEffects(1)
	})
}

// closedTo gives a role that an operation does not let in.
func closedTo(op contracttest.Operation) string {
	for _, role := range []string{"customer", "seller", "admin", "system"} {
		if !slices.Contains(op.Roles, role) {
			return role
		}
	}
	panic(op.ID + " lets everybody in")
}
