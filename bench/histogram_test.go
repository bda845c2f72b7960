package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantile_IsExactToTwoPercent(t *testing.T) {
	t.Parallel()
	var h histogram
	values := make([]time.Duration, 10_001)
	for i := range values {
		values[i] = time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond))
		h.record(values[i])
	}
	slices.Sort(values)
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 0.999, 1} {
		want := values[int(q*float64(len(values)-1))]
		difference := (h.quantile(q) - want).Abs()
		if difference > want/60+time.Microsecond {
			t.Errorf("quantile %v = %v, want %v", q, h.quantile(q), want)
		}
	}
}

func TestQuantile_OfEmptyHistogramIsZero(t *testing.T) {
	t.Parallel()
	var empty histogram
	if got := empty.quantile(0.5); got != 0 {
		t.Errorf("median = %v, want 0", got)
	}
}

func TestHistogramAdd_MergesBothHistograms(t *testing.T) {
	t.Parallel()
	var fast, slow histogram
	for range 99 {
		fast.record(time.Millisecond)
	}
	slow.record(time.Second)

	fast.add(&slow)

	if fast.total != 100 {
		t.Errorf("total = %d, want 100", fast.total)
	}
	if median := fast.quantile(0.5); median > 2*time.Millisecond {
		t.Errorf("median = %v, want about 1 ms", median)
	}
	if highest := fast.quantile(1); highest < 900*time.Millisecond {
		t.Errorf("highest = %v, want about 1 s", highest)
	}
}

func TestBucketOf_LeavesNoGaps(t *testing.T) {
	t.Parallel()
	previous := 0
	for v := range 1_000_000 {
		bucket := bucketOf(time.Duration(v) * time.Microsecond)
		if bucket != previous && bucket != previous+1 {
			t.Fatalf("%d µs is in bucket %d, the value before it in bucket %d", v, bucket, previous)
		}
		previous = bucket
	}
}

func TestBucketOf_ClampsExtremeValues(t *testing.T) {
	t.Parallel()
	if got := bucketOf(100 * time.Hour); got != buckets-1 {
		t.Errorf("100 hours are in bucket %d, want the last, %d", got, buckets-1)
	}
	if got := bucketOf(-time.Second); got != 0 {
		t.Errorf("a negative duration is in bucket %d, want 0", got)
	}
}
