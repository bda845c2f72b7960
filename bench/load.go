package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is a closed loop: each connection sends its next request when it has the answer
// to the last one.
type load struct {
	addr        string
	connections int
	// next makes a request of its own. It is called by many goroutines.
	next func(r *rand.Rand) (call, error)
	// check looks at each answer: one that is wrong ends the whole run.
	check func(reply) error
}

// counted is what happened within a window of time.
type counted struct {
	requests int64
	window   time.Duration
	times    *histogram
}

func (c counted) rate() float64 { return float64(c.requests) / c.window.Seconds() }

// run sends for warm and then for length, and counts what was answered within length.
// At both ends of that it calls mark.
func (l load) run(ctx context.Context, warm, length time.Duration, mark func() error) (counted, error) {
	from := time.Now().Add(warm)
	to := from.Add(length)
	times := make([]histogram, l.connections)
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.connections {
		group.Go(func() error { return l.loop(ctx, from, to, &times[i]) })
	}
	group.Go(func() error { return markAt(ctx, from, mark) })
	group.Go(func() error { return markAt(ctx, to, mark) })
	if err := group.Wait(); err != nil {
		return counted{}, err
	}
	sum := &histogram{}
	for i := range times {
		sum.add(&times[i])
	}
	return counted{requests: sum.total, window: length, times: sum}, nil
}

func markAt(ctx context.Context, at time.Time, mark func() error) error {
	select {
	case <-time.After(time.Until(at)):
		return mark()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop is one connection.
func (l load) loop(ctx context.Context, from, to time.Time, times *histogram) error {
	c, err := dial(ctx, l.addr)
	if err != nil {
		return err
	}
	defer c.close()
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for ctx.Err() == nil {
		start := time.Now()
		if start.After(to) {
			return nil
		}
		if err := l.once(c, random); err != nil {
			return err
		}
		if end := time.Now(); end.After(from) && !end.After(to) {
			times.record(end.Sub(start))
		}
	}
	return ctx.Err()
}

// send sends n requests, one after the other.
func (l load) send(ctx context.Context, n int, each func() error) error {
	c, err := dial(ctx, l.addr)
	if err != nil {
		return err
	}
	defer c.close()
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for range n {
		if err := l.once(c, random); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l load) once(c *client, random *rand.Rand) error {
	call, err := l.next(random)
	if err != nil {
		return err
	}
	rep, err := c.do(call)
	if err != nil {
		return fmt.Errorf("POST %s: %w", call.path, err)
	}
	if err := l.check(rep); err != nil {
		return fmt.Errorf("POST %s: %w", call.path, err)
	}
	return nil
}
