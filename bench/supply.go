package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// supply is what requests use up: numbered, and prepared before each measurement.
type supply struct {
	first   int64
	perCore int64        // more than one core can use up in a second
	count   atomic.Int64 // how many have been taken
	ready   int64        // how many have been prepared
	fill    func(ctx context.Context, from, to int64) error
}

// take gives one that nobody has had.
func (s *supply) take() (int64, error) {
	n := s.count.Add(1) - 1
	if n >= s.ready {
		return 0, errors.New("what was prepared is used up")
	}
	return s.first + n, nil
}

// next is the first one that has not been used.
func (s *supply) next() int64 { return s.first + s.count.Load() }

// stock prepares enough for a measurement of some length.
func (s *supply) stock(ctx context.Context, length time.Duration) error {
	return s.stockFor(ctx, int64(length.Seconds())*s.perCore*int64(runtime.NumCPU()))
}

func (s *supply) stockFor(ctx context.Context, n int64) error {
	need := s.count.Load() + n
	if need <= s.ready {
		return nil
	}
	if err := s.fill(ctx, s.first+s.ready, s.first+need); err != nil {
		return err
	}
	s.ready = need
	return nil
}

// skipTo notes that all before id have been used.
func (s *supply) skipTo(id int64) { s.count.Store(id - s.first) }
