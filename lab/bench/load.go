package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.connections {
		group.Go(func() (err error) {
			latencies[i], err = l.loop(ctx, from, to)
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

func callAt(ctx context.Context, at time.Time, f func() error) error {
	select {
	case <-time.After(time.Until(at)):
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop sends one connection's requests, and returns the latencies between the times.
func (l load) loop(ctx context.Context, from, to time.Time) ([]time.Duration, error) {
	c, err := dial(ctx, l.addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	random := newRandom()
	var latencies []time.Duration
	for ctx.Err() == nil {
		start := time.Now()
		if start.After(to) {
			return latencies, nil
		}
		if err := l.sendOne(c, random); err != nil {
			return nil, err
		}
		if end := time.Now(); end.After(from) && !end.After(to) {
			latencies = append(latencies, end.Sub(start))
		}
	}
	return nil, ctx.Err()
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
		return fmt.Errorf("POST %s: unexpected response: %w", req.path, err)
	}
	return nil
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
