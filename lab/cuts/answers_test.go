package cuts_test

import (
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// cutReplay cuts a replay, which writes nothing. Whatever the cut loses, a retry returns
// the stored response.
func cutReplay(t *testing.T) {
	t.Helper()
	r := startShop(t)
	r.cutEverywhere(t, func() attempt {
		r.replay(t) // warms the replica up
		c, key, first := r.done(t)
		return attempt{
			run: func() string { return c.Send(t, c.WithKey(key)).Verdict() },
			resolve: func(_ cut, learned string) {
				wantAnyOf(t, learned, "503 unavailable", "201")
				c.WantReplay(t, first, r.retry(t, c, key))
				c.WantEffects(t, 1)
			},
		}
	})
}

// done runs a command past the proxy, so that the replica behind it does not remember the
// record.
func (r replicas) done(t *testing.T) (c e2e.Command, key string, first e2e.Reply) {
	t.Helper()
	c, key = r.direct.Prepare(t, "creditBalance"), r.direct.NewKey()
	first = c.MustRun(t, key)
	r.awaitIdle(t)
	return c.On(r.cut), key, first
}

func (r replicas) replay(t *testing.T) {
	t.Helper()
	c, key, first := r.done(t)
	c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
	r.awaitIdle(t)
}

func wantAnyOf(t *testing.T, got string, want ...string) {
	t.Helper()
	if !slices.Contains(want, got) {
		t.Errorf("the response is %s, want one of %q", got, want)
	}
}

func cutUsedKey(t *testing.T) {
	t.Helper()
	cutLookup(t, true)
}

func cutUnusedKey(t *testing.T) {
	t.Helper()
	cutLookup(t, false)
}

// cutLookup cuts a look-up of a key. It says what became of the key, or that it could not
// be read.
func cutLookup(t *testing.T, used bool) {
	t.Helper()
	r := startShop(t)
	want, state := "200", "completed"
	if !used {
		want, state = "404 not_found", ""
	}
	r.cutEverywhere(t, func() attempt {
		c, key, _ := r.done(t)
		if !used {
			key = r.direct.NewKey()
		}
		call := e2e.LookupCall(c.Call.Token, key)
		r.cut.Send(t, call) // warms the replica up
		r.awaitIdle(t)
		return attempt{
			run: func() string { return r.cut.Send(t, call).Verdict() },
			resolve: func(_ cut, learned string) {
				wantAnyOf(t, learned, "503 unavailable", want)
				if again := r.cut.Send(t, call); again.Verdict() != want || stateOf(t, again) != state {
					t.Errorf("the repeated look-up says %d %s, want %s %s", again.Status, again.Body, want, state)
				}
			},
		}
	})
}
