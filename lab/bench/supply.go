package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// supply is a numbered series of rows; each request uses up one. They are inserted
// before a measurement.
type supply struct {
	first   int64        // number of the first row
	perCore int64        // rows per second and core; more than one core can use
	used    atomic.Int64 // rows that requests have taken
	ready   int64        // rows that have been inserted
	fill    func(ctx context.Context, from, to int64) error
}

// take returns a unique number.
func (s *supply) take() (int64, error) {
	n := s.used.Add(1) - 1
	if n >= s.ready {
		return 0, errors.New("more requests than prepared rows")
	}
	return s.first + n, nil
}

// next returns the first number that has not been taken.
func (s *supply) next() int64 { return s.first + s.used.Load() }

// prepareFor inserts enough rows for a measurement with the given length.
func (s *supply) prepareFor(ctx context.Context, length time.Duration) error {
	return s.prepare(ctx, int64(length.Seconds())*s.perCore*int64(runtime.NumCPU()))
}

// prepare makes sure that n rows are ready to be taken.
func (s *supply) prepare(ctx context.Context, n int64) error {
	need := s.used.Load() + n
	if need <= s.ready {
		return nil
	}
	if err := s.fill(ctx, s.first+s.ready, s.first+need); err != nil {
		return err
	}
	s.ready = need
	return nil
}

// skipTo marks all rows before the given number as used.
func (s *supply) skipTo(number int64) { s.used.Store(number - s.first) }
