package stripe_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/stripe"
)

// secretKey is the API key of these tests. It is as long as a real one.
const secretKey = "sk_live_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz"

// serve starts a server whose requests are counted.
func serve(t *testing.T, answer http.HandlerFunc) (serverURL string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// A redirect would take the key, and the card, to whoever it names: here to another port
// of the same host, for which net/http keeps the Authorization header.
func TestGateway_FollowsNoRedirect(t *testing.T) {
	t.Parallel()
	succeeds := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, intent("succeeded", "")) }
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			elsewhere, stolen := serve(t, succeeds)
			provider, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere+r.URL.Path)
				w.WriteHeader(status)
			})
			gateway := stripe.New(stripe.Config{Key: secretKey, URL: provider})
			if result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err == nil {
				t.Errorf("charge: %+v, want an error", result)
			}
			if result, err := gateway.Refund(t.Context(), cardRefund(t, 7, 8, "pi_1", "5.00")); err == nil {
				t.Errorf("refund: %+v, want an error", result)
			}
			if charges, err := gateway.Charges(t.Context(), time.Unix(0, 0)); err == nil {
				t.Errorf("charges: %+v, want an error", charges)
			}
			if n := requests.Load(); n != 3 {
				t.Errorf("%d requests for 3 calls: a redirect is not worth a retry", n)
			}
			if n := stolen.Load(); n != 0 {
				t.Errorf("%d requests arrived where the redirect leads", n)
			}
		})
	}
}

// Without a Location, net/http hands a redirect on as a response like any other.
func TestGateway_BelievesNoRedirectWithoutALocation(t *testing.T) {
	t.Parallel()
	gateway, stub := stubbed(response{302, intent("succeeded", ""), nil})
	result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err == nil || err.Error() != "stripe: charge: the response is a redirect" || len(stub.calls) != 1 {
		t.Errorf("%+v, %v after %d calls; want an error after one", result, err, len(stub.calls))
	}
}

// endless is a response that never ends. It counts what was read.
type endless struct{ read atomic.Int64 }

// RoundTrip implements [http.RoundTripper].
func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(e), Header: http.Header{}, Request: r}, nil
}

// Read implements [io.Reader].
func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func TestGateway_BoundsResponses(t *testing.T) {
	t.Parallel()
	provider := &endless{}
	gateway := stripe.New(stripe.Config{Key: secretKey, HTTPClient: &http.Client{Transport: provider}})
	result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err == nil || err.Error() != "stripe: charge: unreadable response" {
		t.Errorf("%+v, %v; want an unreadable response", result, err)
	}
	if attempts, most := int64(3), int64(16<<20); provider.read.Load() > attempts*most {
		t.Errorf("%d bytes were read", provider.read.Load())
	}
}

// Errors of calls get into rows of jobs and into the log.
func TestGateway_ErrorsHaveNeitherAddressNorKey(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	echo, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { // as a proxy might, to help with debugging
		w.Header().Set("Request-Id", r.Host+r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"error": {"type": "invalid_request_error", "code": %q}}`, r.Header.Get("Authorization")+" "+r.URL.String())
	})
	hangUp, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, c := range map[string]struct{ provider, want string }{
		"refused":     {closed.URL, "stripe: charge: no connection: connection refused"},
		"unknown":     {"https://stripe.invalid", "stripe: charge: no connection: the name of the host cannot be resolved"},
		"untrusted":   {untrusted.URL, "stripe: charge: no connection: the certificate is not trusted"},
		"hangs up":    {hangUp, "stripe: charge: no connection: the request failed"},
		"echoes":      {echo, "stripe: charge: status 403, (unreadable), request (unreadable)"},
		"no HTTP URL": {"https://stripe.invalid:0/%zz", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway := stripe.New(stripe.Config{Key: secretKey, URL: c.provider})
			_, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
			if err == nil || (c.want != "" && err.Error() != c.want) {
				t.Errorf("err = %v\nwant  %s", err, c.want)
			}
			wantNoAddress(t, c.provider, fmt.Sprint(err))
		})
	}
}

// wantNoAddress checks that a text has no part of the URL of a call, and not the key.
func wantNoAddress(t *testing.T, provider, text string) {
	t.Helper()
	secrets := []string{secretKey, "payment_intents", "://", "127.0.0.1", "stripe.invalid"}
	if u, err := url.Parse(provider); err == nil && u.Port() != "" {
		secrets = append(secrets, u.Port())
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the error %s", secret, text)
		}
	}
}
