package main

import "testing"

func TestParseStat_ReadsParentAndTimes(t *testing.T) {
	t.Parallel()
	// The parent is 7, and the times are 100 + 20 of its own and 30 + 4 of its children.
	const line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 30 4 20 0 1 0 5"
	got, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if want := (stat{parent: 7, own: 120, endedChildren: 34}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseStat_RejectsShortLine(t *testing.T) {
	t.Parallel()
	if got, err := parseStat([]byte("42 (x) S")); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}
