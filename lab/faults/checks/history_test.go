package checks

import (
	"testing"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

func TestBrokenPromises_FindsWhatWasForgotten(t *testing.T) {
	t.Parallel()
	l := clients.New(t, world.Start(t, world.Needs{}), 1, nil)
	c := l.NewClient(0)
	c.SendPatiently(c.ChangeBalanceOf(clients.Savers[0], "credit", 100))
	if broken := brokenPromises(l); len(broken) > 0 || l.Counters.Get(world.PromisesChecked) != 1 {
		t.Fatalf("%d promises checked, want 1, and broken: %q", l.Counters.Get(world.PromisesChecked), broken)
	}

	l.Exec(t, `DELETE FROM idempotency_record`)

	if broken := brokenPromises(l); len(broken) == 0 {
		t.Error("a forgotten record breaks no promise")
	}
}
