package core

import "time"

// Position is a place in a list sorted by creation. The zero Position is the beginning.
type Position struct {
	CreatedAt time.Time
	ID        int64
}

// Page asks for at most Limit rows that follow the position After.
type Page struct {
	After Position
	Limit int
}

// Period selects rows created at From or later, and before To. A zero bound is open.
type Period struct {
	From time.Time
	To   time.Time
}

// Start moves the beginning of the page to the end of the period if that comes later in
// the list. Stores therefore need to know only the beginning of the period.
func (p Period) Start(page Page) Page {
	if p.To.IsZero() {
		return page
	}
	if after := page.After.CreatedAt; after.IsZero() || !p.To.After(after) {
		page.After = Position{CreatedAt: p.To} // rows created at To have greater ids
	}
	return page
}

// Includes reports whether the period contains a creation time.
func (p Period) Includes(created time.Time) bool {
	if created.Before(p.From) {
		return false
	}
	return p.To.IsZero() || created.Before(p.To)
}

// Paginate returns one page and the position after it, nil on the last page. The store
// must have been asked for one extra row, which shows that a page follows.
func Paginate[T any](rows []T, limit int, at func(T) Position) ([]T, *Position) {
	if len(rows) <= limit {
		return rows, nil
	}
	next := at(rows[limit-1])
	return rows[:limit], &next
}

// After returns now, or the first microsecond after last if now is not later. Rows in
// an order that a lock decides take their times from it, so that lists by time keep
// that order.
func After(last, now time.Time) time.Time {
	if next := last.Add(time.Microsecond); now.Before(next) {
		return next
	}
	return now
}
