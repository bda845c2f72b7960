package core_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/orders/internal/core"
)

func TestPaginate(t *testing.T) {
	t.Parallel()
	at := func(n int) core.Position { return core.Position{CreatedAt: time.Unix(int64(n), 0), ID: int64(n)} }
	for name, c := range map[string]struct {
		rows []int
		want []int
		next *core.Position
	}{
		"nothing":               {nil, nil, nil},
		"less than a page":      {[]int{9, 8}, []int{9, 8}, nil},
		"exactly a page":        {[]int{9, 8, 7}, []int{9, 8, 7}, nil},
		"more than a page":      {[]int{9, 8, 7, 6}, []int{9, 8, 7}, new(at(7))},
		"much more than a page": {[]int{9, 8, 7, 6, 5}, []int{9, 8, 7}, new(at(7))},
	} {
		got, next := core.Paginate(c.rows, 3, at)
		if !slices.Equal(got, c.want) || (next == nil) != (c.next == nil) || (next != nil && *next != *c.next) {
			t.Errorf("%s: got %v, next %v; want %v, %v", name, got, next, c.want, c.next)
		}
	}
}

// All pages together are the list: no row is repeated or missing.
func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	at := func(n int) core.Position { return core.Position{ID: int64(n)} }
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.IntRange(1, 100), 0, 30, rapid.ID).Draw(t, "list")
		slices.Sort(list)
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		var got []int
		after := core.Position{}
		for range len(list) + 1 {
			following := slices.DeleteFunc(slices.Clone(list), func(n int) bool { return int64(n) <= after.ID })
			rows, next := core.Paginate(following[:min(limit+1, len(following))], limit, at)
			got = append(got, rows...)
			if next == nil {
				break
			}
			after = *next
		}
		if !slices.Equal(got, list) {
			t.Fatalf("pages of %d of %v are %v", limit, list, got)
		}
	})
}

func TestAfter_ReturnsTheLaterTime(t *testing.T) {
	t.Parallel()
	last := time.Unix(100, 0)
	for now, want := range map[time.Time]time.Time{
		last.Add(time.Hour):       last.Add(time.Hour),
		last.Add(time.Nanosecond): last.Add(time.Microsecond), // stores do not tell them apart
		last:                      last.Add(time.Microsecond),
		last.Add(-time.Hour):      last.Add(time.Microsecond),
	} {
		if got := core.After(last, now); !got.Equal(want) {
			t.Errorf("After(%v, %v) = %v, want %v", last, now, got, want)
		}
	}
}
