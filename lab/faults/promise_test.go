package faults

import "testing"

func TestBrokenPromises_FindsWhatWasForgotten(t *testing.T) {
	t.Parallel()
	l := newLoad(t, start(t, Needs{}), 1, nil)
	c := l.newClient(0)
	c.sendPatiently(c.changeBalanceOf(savers[0], "credit", 100))
	if broken := l.brokenPromises(); len(broken) > 0 || l.Counters.Get(promisesChecked) != 1 {
		t.Fatalf("%d promises checked, want 1, and broken: %q", l.Counters.Get(promisesChecked), broken)
	}

	l.Exec(t, `DELETE FROM idempotency_record`)

	if broken := l.brokenPromises(); len(broken) == 0 {
		t.Error("a forgotten record breaks no promise")
	}
}
