package httpguard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/orders/kit/guard/httpguard"
)

// sent is a request to be compared.
type sent struct{ method, target, body string }

func (s sent) request(t *testing.T) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), s.method, s.target, strings.NewReader(s.body))
	r.Header.Set("Principal", "alice")
	r.Header.Set("Idempotency-Key", "key-1")
	return r
}

func TestMeaning_IsThatOfTheFirstRequest(t *testing.T) {
	t.Parallel()
	const object = `{"to": "bob", "cents": 100, "tags": [{"b": 1, "a": null}, true, "€"]}`
	first := sent{"POST", "/accounts/ann@x/transfers?a=1&b=2", object}
	for name, other := range map[string]struct {
		sent
		same bool
	}{
		"the same":                   {first, true},
		"another spelling of JSON":   {sent{"POST", first.target, `{"tags":[{"a":null,"b":1},true,"\u20ac"],"cents":100,"to":"bob"}`}, true},
		"another order of the query": {sent{"POST", "/accounts/ann@x/transfers?b=2&a=1", object}, true},
		"another spelling of a path": {sent{"POST", "/accounts/%61nn%40x/transfers?a=1&b=%32", object}, true},
		"another method":             {sent{"PUT", first.target, object}, false},
		"another path":               {sent{"POST", "/accounts/bob@x/transfers?a=1&b=2", object}, false},
		"a border in the path":       {sent{"POST", "/accounts/ann@x%2Ftransfers?a=1&b=2", object}, false},
		"another query":              {sent{"POST", "/accounts/ann@x/transfers?a=1&b=3", object}, false},
		"another value":              {sent{"POST", first.target, strings.Replace(object, "100", "101", 1)}, false},
		"another order of a list":    {sent{"POST", first.target, strings.Replace(object, `true, "€"`, `"€", true`, 1)}, false},
		"one member more":            {sent{"POST", first.target, strings.Replace(object, `"to"`, `"from": "", "to"`, 1)}, false},
	} {
		a := newApp(created)
		want(t, a.serve(first.request(t)), http.StatusCreated, "", false)
		t.Log(name)
		if other.same {
			want(t, a.serve(other.request(t)), http.StatusCreated, "", true)
		} else {
			want(t, a.serve(other.request(t)), http.StatusConflict, "idempotency_key_reused", false)
		}
		a.wantEffects(t, 1, 1)
	}
}

// Bodies that two parsers may read as two values are compared as they are.
func TestMeaning_OfOtherBodiesIsTheirBytes(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{`{"cents": 1, "cents": 2}`, `{"cents": 2}`}, {`{"a":{"b":1,"b":2}}`, `{"a":{"b":2}}`}, {`"\ud800"`, `"\udfff"`},
		{"\"\xff\"", "\"\xfe\""}, {`{"a":1} `, `{"a":1} {}`}, {`{"a":1`, `{"a":1 `}, {"a=1&b=2", "b=2&a=1"}, {"", " "},
		{`1.0`, `1`}, {`12345678901234567890`, `12345678901234567891`}, {`1e400`, `1e401`}, {`"<"`, `"\u003e"`}, {`[]`, `{}`}, {`[1,2]`, `[12]`},
	} {
		a := newApp(created)
		want(t, a.send(t, "key-1", pair[0]), http.StatusCreated, "", false)
		want(t, a.send(t, "key-1", pair[0]), http.StatusCreated, "", true)
		want(t, a.send(t, "key-1", pair[1]), http.StatusConflict, "idempotency_key_reused", false)
	}
}

// What cannot be read claims no key.
func TestBody_IsReadBeforeTheKeyIsClaimed(t *testing.T) {
	t.Parallel()
	a := newApp(created, func(c *httpguard.Config) { c.MaxBody = 4 })
	torn := request(t, "key-1", "")
	torn.Body = io.NopCloser(iotest.ErrReader(errors.New("unexpected EOF")))
	want(t, a.serve(torn), http.StatusBadRequest, "body_unreadable", false)
	want(t, a.send(t, "key-1", "12345"), http.StatusRequestEntityTooLarge, "body_too_large", false)
	want(t, a.send(t, "key-1", "1234"), http.StatusCreated, "", false)
	a.wantEffects(t, 1, 1)
}

// Two forms under one key would mean the same if another handler had read them.
func TestBody_IsNotReadByAHandlerAroundTheGuard(t *testing.T) {
	t.Parallel()
	a := newApp(created)
	r := request(t, "key-1", "cents=1000")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_ = r.ParseForm()
	want(t, a.serve(r), http.StatusInternalServerError, "internal", false)
	a.wantEffects(t, 0, 0)
	if !strings.Contains(a.log.String(), "read before the guard") {
		t.Errorf("the log says %q", a.log)
	}
}

func TestKey_IsRequired(t *testing.T) {
	t.Parallel()
	a := newApp(created)
	for _, keys := range [][]string{nil, {""}, {"a", "b"}, {"a,b"}} {
		r := request(t, "", `{}`)
		r.Header["Idempotency-Key"] = keys
		want(t, a.serve(r), http.StatusBadRequest, "idempotency_key_", false)
	}
	a.wantEffects(t, 0, 0)
}
