package cuts_test

import (
	"maps"
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// cutsByDefault is how much of the catalogue is drawn without -all.
const cutsByDefault = 2

func TestEveryCut_LeavesOneEffect(t *testing.T) {
	t.Parallel()
	tests := catalogue()
	for _, name := range draw(t, cutsByDefault, slices.Sorted(maps.Keys(tests))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tests[name](t)
		})
	}
}

// catalogue returns the tests of all that is cut.
func catalogue() map[string]func(t *testing.T) {
	tests := map[string]func(t *testing.T){
		"replay":                   cutReplay,
		"look-up of a used key":    cutUsedKey,
		"look-up of an unused key": cutUnusedKey,
	}
	for _, route := range e2e.GuardedRoutes() {
		tests["command "+route] = cutRoute(route)
	}
	for _, refusal := range e2e.GuardedRefusals() {
		tests["refusal "+refusal.String()] = cutRefusal(refusal)
	}
	for name, prepare := range cardCommands {
		tests["command "+name] = cutCardCommand(prepare)
	}
	for name, prepare := range plainCommands {
		tests["command without a key "+name] = cutPlain(prepare)
	}
	for name, prepare := range jobsByName {
		tests["job "+name] = cutJob(prepare)
	}
	return tests
}

func cutRoute(route string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		r := startShop(t)
		r.cutCommand(t, func() command { return effective(r.direct.Prepare(t, route)) })
	}
}

// cutRefusal does not check the invariants: the SQL that prepares some refusals breaks
// them.
func cutRefusal(refusal e2e.RefusalName) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		r := startReplicas(t)
		r.cutCommand(t, func() command { return refused(r.direct.PrepareRefusal(t, refusal)) })
	}
}
