package core

import "time"

// Position is a place in a list that is sorted by creation. The zero Position is the
// beginning of the list.
type Position struct {
	CreatedAt time.Time
	ID        int64
}

// Page asks for at most Limit rows that follow the position After.
type Page struct {
	After Position
	Limit int
}

// Period selects rows by when they were created: at From or later, and before To. A zero
// time does not restrict it.
type Period struct {
	From time.Time
	To   time.Time
}

// Start returns a page that begins where the period ends, or later in the list. Stores
// therefore know only the beginning of a period.
func (p Period) Start(page Page) Page {
	after := page.After.CreatedAt
	if !p.To.IsZero() && (after.IsZero() || !p.To.After(after)) {
		page.After = Position{CreatedAt: p.To} // rows of that moment have greater ids
	}
	return page
}

// Includes reports whether a row that was created at a time belongs to the period.
func (p Period) Includes(created time.Time) bool {
	return !created.Before(p.From) && (p.To.IsZero() || created.Before(p.To))
}

// Paginate returns one page of rows and the position after it. The store must have
// been asked for one row more than the page holds: that row shows that another page
// follows. The position is nil on the last page.
func Paginate[T any](rows []T, limit int, at func(T) Position) ([]T, *Position) {
	if len(rows) <= limit {
		return rows, nil
	}
	next := at(rows[limit-1])
	return rows[:limit], &next
}

// After returns now, or the first moment after last if now is not later. Rows whose order
// a lock decides take their times from it, so that lists by time have them in that order.
// Stores keep times to the microsecond.
func After(last, now time.Time) time.Time {
	if next := last.Add(time.Microsecond); now.Before(next) {
		return next
	}
	return now
}
