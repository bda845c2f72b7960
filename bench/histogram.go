package main

import (
	"math/bits"
	"time"
)

const (
	// subBits divides each power of two into 64 buckets, so a value is exact to 1.6 %.
	subBits = 6
	sub     = 1 << subBits
	// buckets is enough for more than an hour in microseconds.
	buckets = 27 * sub
)

// histogram counts durations in buckets whose width grows with the value, so that its
// size does not depend on the length of the run.
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

// quantile returns the value that a share q of all values does not exceed, or 0 if the
// histogram is empty.
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

// bucketOf returns the bucket of a duration. Buckets are one microsecond wide up to 128
// µs; after that, each power of two has 64 buckets.
func bucketOf(d time.Duration) int {
	v := uint64(max(d.Microseconds(), 0))
	shift := max(bits.Len64(v)-subBits-1, 0)
	return min(shift*sub+int(v>>shift), buckets-1)
}

// middleOf returns the value in the middle of a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/sub - 1
	low := (bucket%sub + sub) << shift
	return time.Duration(low+(1<<shift)/2) * time.Microsecond
}
