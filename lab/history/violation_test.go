package history_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/lab/history"
)

func TestViolation_PrintsTheAttemptsOfTheKey(t *testing.T) {
	t.Parallel()
	h := attempts{created(20, 30), on(-5, unknown(0, 10)), lookup(40, 50, "completed")}
	h[1].Error = "connection reset"
	h = append(h, of("2", created(0, 10)))
	found := history.Check(append(h, answer("second", leaving(7, reused(35, 36)))), history.Options{})
	want := strings.Join([]string{
		`one response of a key: key k of alice: its stored responses are ["first" "second"]`,
		`	        0s … 10ms       client 0 at 0 creditBalance key k request credit account alice RUB -5 → unknown connection reset`,
		`	      20ms … 30ms       client 0 at 0 creditBalance key k request credit → ok 201 created response first of entry 1`,
		`	      35ms … 36ms       client 0 at 0 creditBalance key k request credit → ok 201 reused response second of entry 1 balance 7`,
		`	      40ms … 50ms       client 0 at 0 getIdempotencyKey key k → ok 200 response record completed creditBalance`,
	}, "\n")
	if diff := cmp.Diff(want, found[0].String()); diff != "" {
		t.Error(diff)
	}
}

func TestViolation_IsNoLongerThanAPage(t *testing.T) {
	t.Parallel()
	v := history.Violation{Attempts: make(attempts, 50)}
	lines := strings.Split(v.String(), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); len(lines) != 42 || last != "and 10 more" {
		t.Errorf("%d lines, the last is %q", len(lines), last)
	}
}
