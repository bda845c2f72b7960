package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is a closed loop: each connection sends its next request when it has received
// the response to the previous one.
type load struct {
	addr        string
	connections int
	// next returns a new request. Many goroutines call it.
	next func(r *rand.Rand) (request, error)
	// check returns an error for an unexpected response, which ends the run.
	check func(response) error
	// failed counts unexpected responses, if it is set. They do not end the run then.
	failed *atomic.Int64
}

// errUnexpected is an unexpected response.
var errUnexpected = errors.New("unexpected response")

// outcome is what happened within the measured time.
type outcome struct {
	requests  int64
	length    time.Duration
	latencies *histogram
}

func (o outcome) sample() sample {
	return sample{
		rate: float64(o.requests) / o.length.Seconds(),
		p50:  o.latencies.quantile(0.5), p99: o.latencies.quantile(0.99),
	}
}

// run sends requests for the warm-up and the measurement. It counts the requests that
// are answered during the measurement, and calls mark when the measurement begins and
// when it ends.
func (l load) run(ctx context.Context, times timing, mark func() error) (outcome, error) {
	from := time.Now().Add(times.warmUp)
	to := from.Add(times.length)
	latencies := make([]histogram, l.connections)
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.connections {
		group.Go(func() error { return l.loop(ctx, from, to, &latencies[i]) })
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
	sum := &histogram{}
	for i := range latencies {
		sum.add(&latencies[i])
	}
	return outcome{requests: sum.total, length: times.length, latencies: sum}, nil
}

func callAt(ctx context.Context, at time.Time, f func() error) error {
	select {
	case <-time.After(time.Until(at)):
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop sends the requests of one connection.
func (l load) loop(ctx context.Context, from, to time.Time, latencies *histogram) error {
	c, err := dial(ctx, l.addr)
	if err != nil {
		return err
	}
	defer c.close()
	random := newRandom()
	for ctx.Err() == nil {
		start := time.Now()
		if start.After(to) {
			return nil
		}
		err := l.sendOne(c, random)
		if l.failed != nil && errors.Is(err, errUnexpected) {
			l.failed.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		if end := time.Now(); end.After(from) && !end.After(to) {
			latencies.record(end.Sub(start))
		}
	}
	return ctx.Err()
}

// send sends n requests on one connection and calls each after every response.
func (l load) send(ctx context.Context, n int, each func() error) error {
	c, err := dial(ctx, l.addr)
	if err != nil {
		return err
	}
	defer c.close()
	random := newRandom()
	for range n {
		if err := l.sendOne(c, random); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l load) sendOne(c *client, random *rand.Rand) error {
	req, err := l.next(random)
	if err != nil {
		return err
	}
	res, err := c.do(req)
	if err != nil {
		return fmt.Errorf("POST %s: %w", req.path, err)
	}
	if err := l.check(res); err != nil {
		return fmt.Errorf("POST %s: %w: %w", req.path, errUnexpected, err)
	}
	return nil
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
