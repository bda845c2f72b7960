package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// mangled is a way to send a call so that its key is not one.
type mangled func(s *service, c call) reply

// withKeys sends the header as often as there are values.
func withKeys(values ...string) mangled {
	return func(s *service, c call) reply {
		s.Helper()
		c.header = http.Header{"Idempotency-Key": values}
		return s.send(c)
	}
}

func TestGuardAsksForAKey(t *testing.T) {
	t.Parallel()
	eachMangledKey(t, "idempotency_key_required", map[string]mangled{
		"missing":       withKeys(),
		"empty":         withKeys(""),
		"spaces":        withKeys("   "),
		"empty quotes":  withKeys(`""`),
		"quoted spaces": withKeys(`"  "`),
		"in another header": func(s *service, c call) reply {
			c.header = http.Header{"X-Idempotency-Key": {"key"}, "Idempotency_key": {"key"}}
			return s.send(c)
		},
		"in the query": func(s *service, c call) reply {
			c.path += "?Idempotency-Key=key&idempotency_key=key"
			return s.send(c)
		},
		"in the body": func(s *service, c call) reply {
			c.body = `{"idempotency_key": "key", "Idempotency-Key": "key"}`
			return s.send(c)
		},
		"in a trailer": inTrailer,
	})
}

// inTrailer sends the key after the body.
func inTrailer(s *service, c call) reply {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), c.method, s.url+c.path, io.NopCloser(strings.NewReader(c.body)))
	if err != nil {
		s.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}}
	req.Trailer = http.Header{"Idempotency-Key": {"key"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, body}
}

func TestGuardRefusesAKeyThatCouldBeReadInTwoWays(t *testing.T) {
	t.Parallel()
	eachMangledKey(t, "idempotency_key_invalid", map[string]mangled{
		"twice":                     withKeys("key", "key"),
		"two of them":               withKeys("key", "other"),
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

// eachMangledKey sends every guarded command with every mangled key: it is refused, nothing
// happens, and nothing is kept.
func eachMangledKey(t *testing.T, code string, keys map[string]mangled) {
	t.Helper()
	eachGuardedRoute(t, newService(t), func(c scene) {
		for name, send := range keys {
			c.sub(name, func(c scene) {
				r := send(c.service, c.call)
				if r.status != http.StatusBadRequest || r.code() != code {
					c.Errorf("got %d %q, want 400 %q: %s", r.status, r.code(), code, r.body)
				}
				c.wantOutcome(r, "", "")
			})
		}
		c.wantFree(c.newKey())
	})
}

// What is sent as a key, and the key that it is.
func TestGuardTakesEveryKeyOfTheContract(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	eachGuardedRoute(t, newService(t), func(c scene) {
		for name, k := range map[string]struct{ sent, is string }{
			"one character":          {"k", "k"},
			"255 characters":         {long, long},
			"all characters, quoted": {`"` + odd + `"`, odd},
		} {
			c.anew(name, func(c scene) {
				first := c.run(k.sent)
				if got := first.header.Get("Idempotency-Key"); got != k.is {
					c.Errorf("the answer echoes %q, want %q", got, k.is)
				}
				c.wantReplay(first, c.send(c.with(k.is)))
				c.wantReplay(first, c.send(c.with(`"`+k.is+`"`)))
				c.wantEffects(1)
				if n := c.count("SELECT count(*) FROM idempotency_record WHERE scope = $1 AND key = $2", c.principal(), k.is); n != 1 {
					c.Errorf("%d records of the key itself, want 1", n)
				}
			})
		}
	})
}

func TestGuardTellsKeysOfAnotherCaseApart(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		key := c.newKey()
		first := c.run(key)
		upper := c.send(c.with(strings.ToUpper(key)))
		c.wantOutcome(upper, "created", "")
		if n := c.records(); n != 2 {
			c.Errorf("%d records, want one for each of the two keys", n)
		}
		c.wantReplay(first, c.send(c.with(key)))
		c.wantReplay(upper, c.send(c.with(strings.ToUpper(key))))
	})
}
