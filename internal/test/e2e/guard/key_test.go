package guard_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// sendBadKey sends a call with a key that is missing or invalid.
type sendBadKey func(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply

// withKeys sends one Idempotency-Key header for each value.
func withKeys(values ...string) sendBadKey {
	return func(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply {
		t.Helper()
		c.Header = http.Header{"Idempotency-Key": values}
		return s.Send(t, c)
	}
}

func TestGuard_RequiresKey(t *testing.T) {
	t.Parallel()
	wantKeysRefused(t, "idempotency_key_required", map[string]sendBadKey{
		"missing":       withKeys(),
		"empty":         withKeys(""),
		"spaces":        withKeys("   "),
		"empty quotes":  withKeys(`""`),
		"quoted spaces": withKeys(`"  "`),
		"in another header": func(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply {
			t.Helper()
			c.Header = http.Header{"X-Idempotency-Key": {"key"}, "Idempotency_key": {"key"}}
			return s.Send(t, c)
		},
		"in the query": func(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply {
			t.Helper()
			c.Path += "?Idempotency-Key=key&idempotency_key=key"
			return s.Send(t, c)
		},
		"in the body": func(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply {
			t.Helper()
			c.Body = `{"idempotency_key": "key", "Idempotency-Key": "key"}`
			return s.Send(t, c)
		},
		"in a trailer": inTrailer,
	})
}

// inTrailer sends the key in a trailer, after the body.
func inTrailer(t testing.TB, s *e2e.Service, c e2e.Call) e2e.Reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.Method, s.URL+c.Path, io.NopCloser(strings.NewReader(c.Body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.Token}, "Content-Type": {"application/json"}}
	req.Trailer = http.Header{"Idempotency-Key": {"key"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r, err := e2e.ReadReply(resp)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGuard_RefusesAmbiguousKey(t *testing.T) {
	t.Parallel()
	wantKeysRefused(t, "idempotency_key_invalid", map[string]sendBadKey{
		"twice":                     withKeys("key", "key"),
		"two keys":                  withKeys("key", "other"),
		"one of two is empty":       withKeys("", "key"),
		"folded by a comma":         withKeys("key, other"),
		"two in quotes":             withKeys(`"key", "key"`),
		"256 characters":            withKeys(strings.Repeat("k", 256)),
		"256 characters, quoted":    withKeys(`"` + strings.Repeat("k", 256) + `"`),
		"Cyrillic":                  withKeys("ключ"),
		"Latin-1":                   withKeys("cl\xe9"),
		"a no-break space before":   withKeys("\u00a0key"),
		"a zero width space within": withKeys("k\u200bey"),
		"a tab within":              withKeys("k\tey"),
		"a space within":            withKeys("k ey"),
		"a space within quotes":     withKeys(`" key"`),
		"a semicolon":               withKeys("key;q=1"),
		"parameters of an item":     withKeys(`"key";q=1`),
		"a backslash":               withKeys(`k\ey`),
		"an escaped quote":          withKeys(`"k\"ey"`),
		"a quote within":            withKeys(`k"ey`),
		"only a quote":              withKeys(`"`),
		"a quote that never ends":   withKeys(`"key`),
		"a quote that never began":  withKeys(`key"`),
		"quotes in quotes":          withKeys(`""key""`),
	})
}

// wantKeysRefused sends every guarded command with every bad key: it must be refused
// with the code, take no effect and store nothing.
func wantKeysRefused(t *testing.T, code string, keys map[string]sendBadKey) {
	t.Helper()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			for name, send := range keys {
				t.Run(name, func(t *testing.T) {
					r := send(t, c.Service, c.Call)
					if r.Status != http.StatusBadRequest || r.Code() != code {
						t.Errorf("got %d %q, want 400 %q: %s", r.Status, r.Code(), code, r.Body)
					}
					c.WantNotGuarded(t, r)
				})
			}
			c.WantKeyFree(t, c.NewKey())
		})
	}
}

// A key is the same key bare and in quotes.
func TestGuard_AcceptsEveryValidKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			for name, k := range map[string]struct{ sent, key string }{
				"one character":          {"k", "k"},
				"255 characters":         {long, long},
				"all characters, quoted": {`"` + odd + `"`, odd},
			} {
				t.Run(name, func(t *testing.T) {
					c := c.Another(t)
					first := c.MustRun(t, k.sent)
					if got := first.Header.Get("Idempotency-Key"); got != k.key {
						t.Errorf("the response echoes %q, want %q", got, k.key)
					}
					c.WantReplay(t, first, c.Send(t, c.WithKey(k.key)))
					c.WantReplay(t, first, c.Send(t, c.WithKey(`"`+k.key+`"`)))
					c.WantEffects(t, 1)
					if n := c.Count(t, "SELECT count(*) FROM idempotency_record WHERE scope = $1 AND key = $2", c.Scope(), k.key); n != 1 {
						t.Errorf("%d records with the bare key, want 1", n)
					}
				})
			}
		})
	}
}

func TestGuard_DistinguishesCaseOfKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			upper := c.Send(t, c.WithKey(strings.ToUpper(key)))
			c.WantResult(t, upper, "created", "")
			if n := c.RecordsSince(t); n != 2 {
				t.Errorf("%d records, want one for each key", n)
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			c.WantReplay(t, upper, c.Send(t, c.WithKey(strings.ToUpper(key))))
		})
	}
}
