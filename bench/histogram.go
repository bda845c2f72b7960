package main

import (
	"math/bits"
	"time"
)

const (
	// subBits divides each power of two into 64 buckets: a value is known to 1.6 %.
	subBits = 6
	sub     = 1 << subBits
	// buckets reach beyond an hour in microseconds.
	buckets = 27 * sub
)

// histogram counts durations in buckets whose width grows with the value, so that a
// long run takes no more memory than a short one.
type histogram struct {
	counts [buckets]int64
	total  int64
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile gives the value that a share q of all values does not exceed, 0 for an empty
// histogram.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q*float64(h.total-1)) + 1
	var seen int64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return middleOf(i)
		}
	}
	return 0
}

// bucketOf numbers the buckets: one a microsecond up to 128, then 64 for each doubling.
func bucketOf(d time.Duration) int {
	v := uint64(max(d.Microseconds(), 0))
	shift := max(bits.Len64(v)-subBits-1, 0)
	return min(shift*sub+int(v>>shift), buckets-1)
}

// middleOf gives the value in the middle of a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/sub - 1
	low := (bucket%sub + sub) << shift
	return time.Duration(low+(1<<shift)/2) * time.Microsecond
}
