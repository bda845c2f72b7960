// Package stripe takes card payments through Stripe. It implements [cards.Gateway]
// and verifies webhooks. No other package knows Stripe's library.
//
// A payment is charged once, however often the gateway is called for it. Two mechanisms
// ensure that, and neither would be enough alone:
//
//   - Every call that moves money carries an idempotency key made from our row's UUID,
//     and Stripe executes a key once. But Stripe forgets a key some time after 24
//     hours, and until then it repeats the first response, even a 500.
//   - A call that may have been made before is preceded by a search for its result,
//     which finds our row's UUID in Stripe's metadata. But the search finds a new
//     charge only after about a minute, and in bad times after an hour.
//
// While the search may miss the charge, the key is still valid; when the key is gone,
// the search has long found the charge.
package stripe

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

const (
	// defaultTimeout bounds one attempt. It is long, because banks are slow and a
	// result that arrives after the timeout costs a further call.
	defaultTimeout = 20 * time.Second

	maxRetries = 2
	minBackoff = 200 * time.Millisecond
	maxBackoff = 2 * time.Second

	// The breaker opens when nearly all recent attempts failed. At a lower rate, a few
	// hanging cards could stop the rest.
	breakerRate   = 0.8
	breakerCalls  = 20
	breakerPeriod = 30 * time.Second
	breakerDelay  = 5 * time.Second
	breakerProbes = 2
)

// pageSize is Stripe's maximum.
const pageSize = 100

// Config configures a [Gateway].
type Config struct {
	// Key is the secret API key.
	Key string
	// URL defaults to Stripe's own.
	URL string
	// Timeout bounds each attempt and defaults to 20 s. Charge and Refund make up to
	// three attempts, after up to three searches.
	Timeout time.Duration
	// HTTPClient is for tests. It defaults to a plain client.
	HTTPClient *http.Client
	// Answered is called after each request, even a failed one; nil disables it.
	Answered func(operation, outcome string, took time.Duration)
}

// Gateway moves money through Stripe. It is safe for concurrent use.
type Gateway struct {
	client   *api.Client
	live     bool
	policies failsafe.Executor[any]
	breaker  circuitbreaker.CircuitBreaker[any]
	answered func(operation, outcome string, took time.Duration)
}

var _ cards.Gateway = (*Gateway)(nil)

// New returns a gateway. It does not call Stripe yet.
func New(cfg Config) *Gateway {
	client := *cmp.Or(cfg.HTTPClient, &http.Client{})
	client.Transport = transport{cmp.Or(client.Transport, http.DefaultTransport)}
	backends := api.NewBackendsWithConfig(&api.BackendConfig{
		URL:        new(cmp.Or(cfg.URL, api.APIURL)),
		HTTPClient: &client,
		// We retry in one place, under the breaker.
		MaxNetworkRetries: new(int64(0)),
		// The library logs responses, which may contain a client secret.
		LeveledLogger: &api.LeveledLogger{Level: api.LevelNull},
	})
	if cfg.Answered == nil {
		cfg.Answered = func(string, string, time.Duration) {}
	}
	breaker := newBreaker()
	return &Gateway{
		client:   api.NewClient(cfg.Key, api.WithBackends(backends)),
		live:     isLive(cfg.Key),
		policies: policies(breaker, cmp.Or(cfg.Timeout, defaultTimeout)),
		breaker:  breaker, answered: cfg.Answered,
	}
}

// isLive reports whether an API key is one of live mode. All that belongs to the key is in
// the same mode.
func isLive(key string) bool {
	return strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "rk_live_")
}

// CircuitOpen reports whether the breaker rejects requests without sending them.
func (g *Gateway) CircuitOpen() bool { return g.breaker.IsOpen() }

func newBreaker() circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && classify(err).outage }).
		WithFailureRateThreshold(breakerRate, breakerCalls, breakerPeriod).
		WithDelay(breakerDelay).WithSuccessThreshold(breakerProbes).
		Build()
}

// policies returns, from the outside in, retries, breaker and timeout. So each attempt
// has the full timeout, and the breaker counts attempts.
func policies(breaker circuitbreaker.CircuitBreaker[any], limit time.Duration) failsafe.Executor[any] {
	retries := retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && classify(err).retryable }).
		AbortOnErrors(circuitbreaker.ErrOpen, context.Canceled).
		WithMaxRetries(maxRetries).WithBackoff(minBackoff, maxBackoff).WithJitterFactor(0.25).
		ReturnLastFailure().
		Build()
	return failsafe.With[any](retries).Compose(breaker).Compose(timeout.New[any](limit))
}

// call runs one operation under the policies. It returns after the last attempt has
// ended, so no attempt outlives it.
func call[T any](ctx context.Context, g *Gateway, operation string, request func(context.Context) (T, error)) (T, error) {
	var response T
	err := g.policies.WithContext(ctx).RunWithExecution(func(attempt failsafe.Execution[any]) error {
		var err error
		start := time.Now()
		response, err = request(attempt.Context())
		g.answered(operation, outcomeOf(err), time.Since(start))
		return err
	})
	return response, err
}

// page is one list page.
type page[T any] struct {
	items []T
	more  bool
}

// callPage loads one page. The library's own paging would skip the policies.
func callPage[T any](ctx context.Context, g *Gateway, operation string, list func(context.Context) *api.V1List[T]) (page[T], error) {
	return call(ctx, g, operation, func(ctx context.Context) (page[T], error) {
		l := list(ctx)
		if err := l.Err(); err != nil {
			return page[T]{}, err
		}
		return page[T]{items: l.Data(), more: l.Meta().HasMore && len(l.Data()) > 0}, nil
	})
}

// Stripe metadata keys. A charge without them is not ours.
const (
	metaPayment = "orders_payment" // payment key
	metaRefund  = "orders_refund"  // refund key
	metaOrder   = "order_id"

	// These help people who look at a charge. Nothing depends on them, because another
	// database may use the same ids.
	metaPaymentID = "payment_id"
	metaRefundID  = "refund_id"
)

// isOurs reports whether an intent is a charge by this service, in the mode of its key.
func (g *Gateway) isOurs(intent *api.PaymentIntent) bool {
	return intent != nil && intent.Livemode == g.live &&
		(intent.Metadata[metaPayment] != "" || intent.Metadata[metaPaymentID] != "")
}

// termsOf returns the terms stored by Stripe. The order is 0 if the metadata names
// none.
func termsOf(metadata map[string]string, amount int64, currency string) (cards.Terms, error) {
	money, err := moneyOf(amount, currency)
	if err != nil {
		return cards.Terms{}, err
	}
	orderID, _ := strconv.ParseInt(metadata[metaOrder], 10, 64)
	return cards.Terms{
		Payment: metadata[metaPayment], Refund: metadata[metaRefund], OrderID: orderID, Amount: money,
	}, nil
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
