// Package null converts between zero values and NULL.
package null

import "time"

// IfZero returns NULL for a zero id or text.
func IfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// IfZeroTime returns NULL for the zero time.
func IfZeroTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Value returns the zero value for NULL.
func Value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
