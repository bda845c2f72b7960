package postgres

import (
	"strings"
	"testing"
)

func TestNamesOf_NamesStatementsAndNoParameters(t *testing.T) {
	t.Parallel()
	for want, statements := range map[string][]string{
		"begin, TryLockKey, commit": {"begin", "-- name: TryLockKey :one\nSELECT 'secret'", "commit"},
		"InsertEvent, select":       {"-- name: InsertEvent :exec\nINSERT", "-- name: InsertEvent :exec\nINSERT", " SELECT 1"},
		"":                          nil,
	} {
		if got := namesOf(statements); got != want {
			t.Errorf("%q: %q, want %q", statements, got, want)
		}
	}
	if got := namesOf([]string{strings.Repeat("x", 300)}); len(got) != maxSummary {
		t.Errorf("a long name has %d bytes, want %d", len(got), maxSummary)
	}
}
