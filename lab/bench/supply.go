package bench

import (
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
	fill    func(from, to int64)
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
func (s *supply) prepareFor(length time.Duration) {
	s.prepare(int64(length.Seconds()) * s.perCore * int64(runtime.NumCPU()))
}

// prepare makes sure that n rows are ready to be taken.
func (s *supply) prepare(n int64) {
	if need := s.used.Load() + n; need > s.ready {
		s.fill(s.first+s.ready, s.first+need)
		s.ready = need
	}
}

// skipTo marks all rows before the given number as used.
func (s *supply) skipTo(number int64) { s.used.Store(number - s.first) }
