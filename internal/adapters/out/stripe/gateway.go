// Package stripe takes cards through Stripe: it implements [payment.Gateway], verifies webhooks, and lists what Stripe
// has for reconciliation.
//
// One payment is charged once, however often it is asked for. Two things see to that, and neither would do alone:
//
//   - Every call that moves money carries the key of our own row, and Stripe does once what a key asks for. But it
//     forgets a key some time after 24 hours, and until then it repeats the first answer, a 500 included.
//   - A call that may have been made before is preceded by the question what became of it, which finds our row's id in
//     Stripe's metadata. But the search sees a new charge only after about a minute, in bad times an hour.
//
// While the search may be blind, the key still holds; when the key is gone, the search has long seen the charge.
package stripe

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment"
)

// DefaultTimeout bounds one call unless configured otherwise. Banks answer slowly, and an answer that comes after the
// time-out costs another call to learn it.
const DefaultTimeout = 20 * time.Second

const (
	maxRetries = 2
	firstDelay = 200 * time.Millisecond
	maxDelay   = 2 * time.Second

	// The breaker opens when nearly all calls of the last while failed: single cards that hang do not stop the others.
	breakerRate   = 0.8
	breakerCalls  = 20
	breakerPeriod = 30 * time.Second
	breakerDelay  = 5 * time.Second
	breakerProbes = 2
)

// The keys of Stripe's metadata under which it keeps our ids. They tell which charges are ours.
const (
	metaPayment = "payment_id"
	metaOrder   = "order_id"
	metaRefund  = "refund_id"
)

// Config says how Stripe is reached.
type Config struct {
	// Key is the secret API key.
	Key string
	// URL defaults to Stripe's own.
	URL string
	// Timeout bounds each try of a call; it defaults to DefaultTimeout. A charge makes up to three tries, after up to
	// three of the question what became of it.
	Timeout time.Duration
	// HTTPClient may be nil.
	HTTPClient *http.Client
}

// Gateway asks Stripe to move money. It is safe for concurrent use.
type Gateway struct {
	client   *api.Client
	policies failsafe.Executor[any]
}

var _ payment.Gateway = (*Gateway)(nil)

// New makes a gateway. It calls nobody.
func New(cfg Config) *Gateway {
	backends := api.NewBackendsWithConfig(&api.BackendConfig{
		URL:        new(cmp.Or(cfg.URL, api.APIURL)),
		HTTPClient: cmp.Or(cfg.HTTPClient, &http.Client{}),
		// Retries are made here, in one place, under the breaker.
		MaxNetworkRetries: new(int64(0)),
		// The library's log writes answers, and an answer may hold a client secret.
		LeveledLogger: &api.LeveledLogger{Level: api.LevelNull},
	})
	return &Gateway{
		client:   api.NewClient(cfg.Key, api.WithBackends(backends)),
		policies: policies(cmp.Or(cfg.Timeout, DefaultTimeout)),
	}
}

// policies are, from the outside in: retries, breaker, time-out. So each try has its own time, and the breaker counts
// tries.
func policies(limit time.Duration) failsafe.Executor[any] {
	retries := retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && judge(err).repeat }).
		AbortOnErrors(circuitbreaker.ErrOpen, context.Canceled).
		WithMaxRetries(maxRetries).WithBackoff(firstDelay, maxDelay).WithJitterFactor(0.25).
		ReturnLastFailure().
		Build()
	breaker := circuitbreaker.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && judge(err).sick }).
		WithFailureRateThreshold(breakerRate, breakerCalls, breakerPeriod).
		WithDelay(breakerDelay).WithSuccessThreshold(breakerProbes).
		Build()
	return failsafe.With[any](retries).Compose(breaker).Compose(timeout.New[any](limit))
}

// ask makes one call under the policies. It returns after the last try has, so no try outlives it.
func ask[T any](ctx context.Context, g *Gateway, call func(context.Context) (T, error)) (T, error) {
	var answer T
	err := g.policies.WithContext(ctx).RunWithExecution(func(try failsafe.Execution[any]) error {
		var err error
		answer, err = call(try.Context())
		return err
	})
	return answer, err
}
