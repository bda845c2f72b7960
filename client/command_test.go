package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCommand_SaysHowItsResultCameAbout(t *testing.T) {
	c, s := newClient(t, created)
	got, err := order(t.Context(), c, "cart-1")
	want := Outcome{
		Key: s.sent[0].key, Replayed: false, RequestID: "r-1",
		Expires: time.Date(2026, 11, 24, 16, 42, 49, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got.Outcome); diff != "" || err != nil {
		t.Errorf("err = %v, outcome (-want +got):\n%s", err, diff)
	}
}

// keysOf calls an operation twice and returns the keys of both calls. A retry would spoil
// what is compared.
func keysOf(t *testing.T, answers ...answer) (first, second string) {
	t.Helper()
	c, s := newClient(t, answers...)
	for range 2 {
		_, _ = order(t.Context(), c, "cart-1") // most answers are refusals
	}
	if len(s.sent) != len(answers) {
		t.Fatalf("%d requests, want %d", len(s.sent), len(answers))
	}
	return s.sent[0].key, s.sent[len(s.sent)-1].key
}

func TestKey_LivesAsLongAsItsOperation(t *testing.T) {
	reused := refuses(http.StatusConflict, `"code": "idempotency_key_reused", `+decided, kept...)
	invalid := refuses(http.StatusUnprocessableEntity, `"code": "validation_failed", `+decided)
	for name, tc := range map[string]struct {
		answers []answer
		kept    bool
	}{
		"a success":                               {[]answer{created, replayed}, true},
		"a decision to refuse":                    {[]answer{outOfStock, created}, false},
		"a decision to refuse, after a lost one":  {[]answer{loses, outOfStock, created}, false},
		"a refusal that is not stored":            {[]answer{invalid, created}, true},
		"such a refusal, after a lost response":   {[]answer{loses, invalid, created}, true},
		"another request has taken effect":        {[]answer{reused, reused}, true},
		"a refusal to be repeated by the same":    {[]answer{refuses(http.StatusForbidden, `"code": "forbidden_role", "next_key": "same"`), created}, true},
		"a stored refusal of a newer service":     {[]answer{refuses(http.StatusConflict, `"code": "frozen", "next_key": "new"`, kept...), created}, false},
		"a stored refusal that says nothing else": {[]answer{refuses(http.StatusConflict, `"code": "frozen", "next_key": null`, kept...), created}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := keysOf(t, tc.answers...)
				if first == "" || second == "" || (first == second) != tc.kept {
					t.Errorf("keys %q and %q", first, second)
				}
			})
		})
	}
}

func TestKeyReused_SaysThatTheNameKeepsItsKey(t *testing.T) {
	c, _ := newClient(t, refuses(http.StatusConflict, `"code": "idempotency_key_reused", `+decided, kept...))
	_, err := order(t.Context(), c, "cart-1")
	if !errors.Is(err, IdempotencyKeyReused) || !strings.Contains(err.Error(), "cart-1") || !strings.Contains(err.Error(), "keeps its key") {
		t.Errorf("err = %v", err)
	}
}

func TestForget_MakesTheNextCallANewOperation(t *testing.T) {
	c, s := newClient(t, created)
	for range 2 {
		if _, err := order(t.Context(), c, "cart-1"); err != nil {
			t.Fatal(err)
		}
		if err := c.Forget(t.Context(), "cart-1"); err != nil {
			t.Fatal(err)
		}
	}
	if s.sent[0].key == s.sent[1].key {
		t.Errorf("both have the key %s", s.sent[0].key)
	}
}

func TestKeys_AreNotSharedByServicesPrincipalsAndNames(t *testing.T) {
	var shared MemoryStore
	keys := map[string]bool{}
	for _, config := range []Config{
		{URL: "https://orders.test"}, {URL: "https://orders.test/"}, // the same
		{URL: "https://staging.test"}, {URL: "https://orders.test", Principal: "sber-42"},
	} {
		s := &service{answers: []answer{created}}
		config.Token, config.Keys, config.Transport = StaticToken(""), &shared, s
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cart-1", "cart-2"} {
			if _, err := order(t.Context(), c, name); err != nil {
				t.Fatal(err)
			}
		}
		keys[s.sent[0].key], keys[s.sent[1].key] = true, true
	}
	if len(keys) != 3*2 {
		t.Errorf("%d keys for two names of three clients", len(keys))
	}
}

func TestCommand_SendsNothingWithoutAStoredKey(t *testing.T) {
	c, s := newClient(t, created)
	if _, err := order(t.Context(), c, ""); err == nil {
		t.Error("an operation without a name was accepted")
	}
	c.config.Keys = &FileStore{t.TempDir() + "/missing"}
	if _, err := order(t.Context(), c, "cart-1"); err == nil {
		t.Error("a key that could not be stored was used")
	}
	if len(s.sent) != 0 {
		t.Errorf("sent %+v", s.sent)
	}
}
