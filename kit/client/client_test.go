package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

var unauthenticated = refuses(http.StatusUnauthorized, `"code": "unauthenticated", `+undecided, "Idempotency-Key", "")

// renewing returns a source whose tokens are counted: a fresh one has the next number.
func renewing() TokenSource {
	token := 'a'
	return func(_ context.Context, fresh bool) (string, error) {
		if fresh {
			token++
		}
		return string(token), nil
	}
}

func (s *service) tokens() []string {
	var tokens []string
	for _, r := range s.sent {
		tokens = append(tokens, r.token)
	}
	return tokens
}

func TestToken_IsRenewedOnceWhenItIsRefused(t *testing.T) {
	c, s := newClient(t, unauthenticated, created)
	c.config.Token = renewing()
	if _, err := order(t.Context(), c, "cart-1"); err != nil {
		t.Fatal(err)
	}
	if diff := diffOf([]string{"Bearer a", "Bearer b"}, s.tokens()); diff != "" || s.sent[0].key != s.sent[1].key {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}

	c, s = newClient(t, unauthenticated)
	c.config.Token = renewing()
	if _, err := order(t.Context(), c, "cart-1"); !errors.Is(err, Unauthenticated) || len(s.sent) != 2 {
		t.Errorf("%d attempts, err = %v", len(s.sent), err)
	}
}

func TestToken_OfAFailingSourceSendsNothing(t *testing.T) {
	c, s := newClient(t, created)
	missing := errors.New("no token")
	c.config.Token = func(context.Context, bool) (string, error) { return "", missing }
	if _, err := order(t.Context(), c, "cart-1"); !errors.Is(err, missing) || len(s.sent) != 0 {
		t.Errorf("%d requests, err = %v", len(s.sent), err)
	}
}

func TestErrors_SayNeitherTokenNorKeyNorPath(t *testing.T) {
	for _, answer := range []answer{unauthenticated, hangs, outOfStock, pageOf(http.StatusTeapot)} {
		c, s := newClient(t, answer)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.CreditBalance(ctx, "credit-1", "anna@example.com", Credit{Amount: Money{Amount: "1.00", Currency: "RUB"}})
		for _, secret := range []string{"secret-token", s.sent[0].key, "anna"} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q is in %v", secret, err)
			}
		}
	}
}

func TestPath_EscapesItsParameters(t *testing.T) {
	c, s := newClient(t, responds(http.StatusOK, `{"customer_id": "a"}`))
	if _, err := c.GetBalance(t.Context(), "a/b?c%2F"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.sent[0].path, "/customers/a%2Fb%3Fc%252F/balance"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}

func TestPutProduct_SendsTheVersion(t *testing.T) {
	c, s := newClient(t, responds(http.StatusOK, `{"sku": "tea"}`, "ETag", `"3"`))
	none := int64(0)
	got, err := c.PutProduct(t.Context(), "tea", ProductUpdate{Name: "Tea", OnHand: &none}, `"2"`)
	if err != nil || got.ETag != `"3"` || s.sent[0].match != `"2"` || !strings.Contains(s.sent[0].body, `"on_hand":0`) {
		t.Errorf("product %+v, err = %v, sent %+v", got, err, s.sent[0])
	}
}

func TestNew_RefusesAnIncompleteConfiguration(t *testing.T) {
	for _, config := range []Config{
		{Token: StaticToken("")}, {URL: "orders.test", Token: StaticToken("")}, {URL: "https://orders.test"},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("accepted %+v", config)
		}
	}
}

func TestNew_SendsNoTokenInTheClear(t *testing.T) {
	for url, accepted := range map[string]bool{
		"https://orders.test":           true,
		"http://localhost:8080":         true,
		"http://127.0.0.1":              true,
		"http://[::1]:8080":             true,
		"http://orders.test":            false,
		"http://192.0.2.7:8080":         false,
		"http://localhost.evil.test":    false,
		"http://127.0.0.1.evil.test":    false,
		"http://localhost@evil.test":    false,
		"ftp://localhost":               false,
		"orders+unix://localhost/a.tst": false,
	} {
		_, err := New(Config{URL: url, Token: StaticToken(""), Keys: &MemoryStore{}})
		if (err == nil) != accepted {
			t.Errorf("%s: err = %v", url, err)
		}
	}
}

func TestResponse_IsReadUpToABound(t *testing.T) {
	endless := func(r *http.Request) (*http.Response, error) {
		resp, err := created(r)
		resp.Body = io.NopCloser(spaces{})
		return resp, err
	}
	synctest.Test(t, func(t *testing.T) {
		c, _ := newClient(t, endless, replayed)
		if got, err := order(t.Context(), c, "cart-1"); err != nil || !got.Replayed {
			t.Errorf("order %+v, err = %v", got, err)
		}
	})
}

// spaces has no end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestNew_KeepsKeysInFilesByDefault(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	keys := map[string]bool{}
	for range 2 {
		s := &service{answers: []answer{created}}
		c, err := New(Config{URL: "https://orders.test", Token: StaticToken(""), Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := order(t.Context(), c, "cart-1"); err != nil {
			t.Fatal(err)
		}
		keys[s.sent[0].key] = true
	}
	if len(keys) != 1 {
		t.Errorf("after a restart, the operation has another key: %v", keys)
	}
}
