package postgres

import "time"

// optional returns NULL for the zero value of an id or a text.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// valueOf returns the zero value for NULL.
func valueOf[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// optionalTime returns NULL for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// timeOf returns the zero time for NULL.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
