package core

import "time"

// Position is a place in a list that is sorted by creation, newest first. The zero
// Position is the beginning of the list.
type Position struct {
	CreatedAt time.Time
	ID        int64
}

// Page asks for at most Limit rows that follow the position After.
type Page struct {
	After Position
	Limit int
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
