package stripe_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
)

// The gateway sends each kind of request to stripe-mock, Stripe's own stub, which
// rejects what the description of Stripe's API does not know, such as a misspelt
// parameter. Its responses are canned and prove nothing; the tests with fakestripe are
// the other half.
func TestGateway_SendsRequestsThatStripesAPIDescribes(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	gateway := stripe.New(stripe.Config{
		Key: "sk_test_123", URL: "http://stripe-mock", HTTPClient: &http.Client{Transport: mock},
	})
	charge := payment.ChargeRequest{
		Terms: payment.Terms{Payment: "payment-7", OrderID: 3, Amount: money(t, "19.99", "USD")}, PaymentID: 7, Token: "pm_card_visa",
	}
	refund := cardRefund(t, 7, 8, "pi_123", "5.00")

	_, _ = gateway.Charge(t.Context(), charge)
	_, _ = gateway.Charge(t.Context(), retryOf(charge))
	_, _ = gateway.Refund(t.Context(), refund)
	refund.Retry = true
	_, _ = gateway.Refund(t.Context(), refund)
	_, _ = gateway.Charges(t.Context(), time.Now().Add(-time.Hour))

	got := map[string]bool{}
	for _, call := range mock.calls {
		got[call.endpoint] = true
		if call.status != http.StatusOK {
			t.Errorf("%s was answered %d: %s", call.endpoint, call.status, call.body)
		}
	}
	want := map[string]bool{
		"POST /v1/payment_intents":           true,
		"POST /v1/payment_intents/ID/cancel": true,
		"GET /v1/payment_intents/search":     true,
		"GET /v1/payment_intents":            true,
		"POST /v1/refunds":                   true,
		"GET /v1/refunds":                    true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints called (-want +got):\n%s", diff)
	}
}

// stripeMock is a transport to stripe-mock that records the calls.
type stripeMock struct {
	transport http.RoundTripper
	calls     []mockCall
}

type mockCall struct {
	endpoint string
	status   int
	body     string
}

// RoundTrip implements [http.RoundTripper].
func (m *stripeMock) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := m.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	// The canned intent is declined. One that requires action makes the gateway send
	// one more kind of request, because it has to cancel that intent.
	waiting := strings.ReplaceAll(string(body), `"requires_payment_method"`, `"requires_action"`)
	res.Body = io.NopCloser(strings.NewReader(waiting))
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) == 5 {
		parts[3] = "ID"
	}
	m.calls = append(m.calls, mockCall{
		endpoint: r.Method + " " + strings.Join(parts, "/"), status: res.StatusCode, body: string(body),
	})
	return res, err
}

// startStripeMock builds the version of stripe-mock that tools.mod pins, and starts it
// on a socket.
func startStripeMock(t *testing.T) *stripeMock {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "stripe-mock-") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, socket := filepath.Join(dir, "stripe-mock"), filepath.Join(dir, "socket")

	build := exec.CommandContext(t.Context(),
		"go", "build", "-modfile=tools.mod", "-o", program, "github.com/stripe/stripe-mock")
	build.Dir = "../../../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build stripe-mock from tools.mod: %v\n%s", err, out)
	}

	run := exec.Command(program, "-http-unix", socket)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // killed
	})
	for lines := bufio.NewScanner(out); !strings.HasPrefix(lines.Text(), "Listening for HTTP on Unix socket"); {
		if !lines.Scan() {
			t.Fatal("stripe-mock ended before it listened")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // so that it never blocks
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &stripeMock{transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}
