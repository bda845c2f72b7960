package main

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// newTestSupply returns a supply that starts at 10, and the ranges that it fills.
func newTestSupply() (s *supply, filled *[][2]int64) {
	filled = new([][2]int64)
	s = &supply{first: 10, fill: func(_ context.Context, from, to int64) error {
		*filled = append(*filled, [2]int64{from, to})
		return nil
	}}
	return s, filled
}

func TestSupply_ReturnsEachPreparedNumberOnce(t *testing.T) {
	t.Parallel()
	s, filled := newTestSupply()
	if err := errors.Join(s.prepare(t.Context(), 5), s.prepare(t.Context(), 3)); err != nil {
		t.Fatal(err)
	}
	first, err1 := s.take()
	second, err2 := s.take()
	s.skipTo(14)
	if err := s.prepare(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	third, err3 := s.take()

	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if got := []int64{first, second, third}; !slices.Equal(got, []int64{10, 11, 14}) {
		t.Errorf("took %v, want 10, 11 and, after skipping to 14, 14", got)
	}
	if want := [][2]int64{{10, 15}, {15, 19}}; !slices.Equal(*filled, want) {
		t.Errorf("filled %v, want %v", *filled, want)
	}
}

func TestSupply_RefusesWhatIsNotPrepared(t *testing.T) {
	t.Parallel()
	s, _ := newTestSupply()
	if got, err := s.take(); err == nil {
		t.Errorf("took %d, want an error", got)
	}
}
