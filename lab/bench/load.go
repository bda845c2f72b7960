package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
)

// request is one POST request.
type request struct{ path, token, key, body string }

// load is a closed loop: each connection sends the next request when it has received
// the response to the previous one. The load generator shares the machine with the
// measured programs, so its client does as little as possible.
type load struct {
	addr        string
	connections int
	// next returns a new request. Many goroutines call it.
	next func(r *rand.Rand) (request, error)
	// check returns an error for an unexpected response, which ends the run.
	check func(*fasthttp.Response) error
}

// outcome is the sorted latencies of the responses within the measured time.
type outcome struct {
	length    time.Duration
	latencies []time.Duration
}

func (o outcome) sample() sample {
	return sample{
		rate: float64(len(o.latencies)) / o.length.Seconds(),
		p50:  quantile(o.latencies, 0.5), p99: quantile(o.latencies, 0.99),
	}
}

// quantile returns the value that a share q of all sorted values does not exceed, or 0
// without values.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// run sends requests for the warm-up and the measurement. It counts responses during
// the measurement, and calls mark when the measurement begins and ends.
func (l load) run(ctx context.Context, times timing, mark func() error) (outcome, error) {
	from := time.Now().Add(times.warmUp)
	to := from.Add(times.length)
	latencies := make([][]time.Duration, l.connections)
	client := l.client()
	defer client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.connections {
		group.Go(func() (err error) {
			latencies[i], err = l.loop(ctx, client, from, to)
			return err
		})
	}
	group.Go(func() error {
		if err := callAt(ctx, from, mark); err != nil {
			return err
		}
		return callAt(ctx, to, mark)
	})
	if err := group.Wait(); err != nil {
		return outcome{}, err
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	return outcome{length: times.length, latencies: all}, nil
}

func (l load) client() *fasthttp.HostClient {
	return &fasthttp.HostClient{Addr: l.addr, MaxConns: l.connections}
}

func callAt(ctx context.Context, at time.Time, f func() error) error {
	select {
	case <-time.After(time.Until(at)):
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop sends the requests of one connection, and returns the latencies between the times.
func (l load) loop(ctx context.Context, client *fasthttp.HostClient, from, to time.Time) ([]time.Duration, error) {
	random := newRandom()
	var latencies []time.Duration
	for ctx.Err() == nil {
		start := time.Now()
		if start.After(to) {
			return latencies, nil
		}
		if err := l.sendOne(client, random); err != nil {
			return nil, err
		}
		if end := time.Now(); end.After(from) && !end.After(to) {
			latencies = append(latencies, end.Sub(start))
		}
	}
	return nil, ctx.Err()
}

// send sends n requests on one connection and calls each after every response.
func (l load) send(n int, each func()) error {
	client, random := l.client(), newRandom()
	defer client.CloseIdleConnections()
	for range n {
		if err := l.sendOne(client, random); err != nil {
			return err
		}
		each()
	}
	return nil
}

func (l load) sendOne(client *fasthttp.HostClient, random *rand.Rand) error {
	r, err := l.next(random)
	if err != nil {
		return err
	}
	req, res := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(res)
	req.Header.SetMethod(http.MethodPost)
	req.SetRequestURI("http://" + l.addr + r.path)
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Idempotency-Key", r.key)
	req.Header.SetContentType("application/json")
	req.SetBodyString(r.body)
	if err := client.Do(req, res); err != nil {
		return fmt.Errorf("POST %s: %w", r.path, err)
	}
	if err := l.check(res); err != nil {
		return fmt.Errorf("POST %s: unexpected response: %w", r.path, err)
	}
	return nil
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
