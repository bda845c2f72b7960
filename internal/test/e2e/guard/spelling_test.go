package guard_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// Clients and proxies spell one path differently (RFC 3986, section 6.2.2): a Go program
// sends @ and a program for browsers %40.
func TestGuard_ReplaysForEverySpellingOfThePath(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, pair := range [][2]string{
		{"auth0%7C", "auth0%7c"}, {"ann@example.com", "ann%40example.com"}, {"system:service:", "system%3Aservice%3A"},
		{"sber-", "sber%2D"}, {"team%2F", "team%2f"}, {"a+", "a%2B"}, {"a~b_c.", "a%7Eb%5Fc%2E"}, {"o'(a)*!", "o%27%28a%29%2A%21"}, {"x", "%78"},
	} {
		for _, way := range [][2]string{pair, {pair[1], pair[0]}} {
			suffix := s.UniqueName("")
			first := s.CreditCall(t, way[0]+suffix, "1.00")
			again := first
			again.Path = "/customers/" + way[1] + suffix + "/balance/credit"

			created, replayed := s.MustSend(t, first), s.Send(t, again)

			if !replayed.Replayed() || !replayed.SameAs(created) {
				t.Errorf("%s, then %s: %d %s, want the first response", first.Path, again.Path, replayed.Status, replayed.Body)
			}
		}
	}
}

// Each parameter of each guarded route: a character is escaped wherever it occurs.
func TestGuard_ReplaysOnEveryRouteWhenItsPathIsSpelledDifferently(t *testing.T) {
	t.Parallel()
	eachRoute(t, e2e.Start(t), func(t *testing.T, c routes.Command) {
		again := c.WithKey(c.NewKey())
		names, values := strings.Split(c.Operation.Path, "/"), strings.Split(c.Call.Path, "/")
		for i, name := range names {
			if strings.HasPrefix(name, "{") {
				values[i] = strings.NewReplacer("-", "%2D", "1", "%31").Replace(values[i])
			}
		}
		again.Path = strings.Join(values, "/")

		first := c.MustRun(t, again.Key)

		c.WantReplay(t, first, c.Send(t, again))
		c.WantEffects(t, 1)
	})
}

// An ID has one spelling, so that one order has one path.
func TestOrderID_HasOneSpelling(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1})
	s.MustSend(t, s.CreateOrderCall(t, e2e.Alice, "tea", 1)) // the order 1
	for path, want := range map[string]string{
		"/orders/1": "200", "/orders/%31": "200", "/orders/01": "404 not_found", "/orders/+1": "404 not_found",
		"/orders/%2B1": "404 not_found", "/orders/1.0": "404 not_found", "/orders/%201": "404 not_found",
	} {
		if got := s.Send(t, e2e.Get(s.CustomerToken(t), path)); got.Verdict() != want {
			t.Errorf("%s: %s, want %s", path, got.Verdict(), want)
		}
	}
	if got := s.Send(t, e2e.Get(s.CustomerToken(t), "//orders/1")); got.Status != http.StatusNotFound {
		t.Errorf("//orders/1: %d, want 404", got.Status)
	}
}
