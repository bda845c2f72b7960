package cuts_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// cutsByDefault is how much of the catalogue is drawn without -all.
const cutsByDefault = 2

func TestEveryCut_LeavesOneEffect(t *testing.T) {
	t.Parallel()
	tests := catalogue()
	t.Cleanup(func() { t.Log(done.String()) })
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

// done is what the tests have cut.
var done summary

// summary counts the messages and the cuts of all tests.
type summary struct {
	mu                    sync.Mutex
	tests, messages, cuts int
}

// add adds and logs those of one test.
func (s *summary) add(t *testing.T, messages, cuts int) {
	t.Helper()
	t.Logf("%s: %d messages, %d cuts", t.Name(), messages, cuts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests, s.messages, s.cuts = s.tests+1, s.messages+messages, s.cuts+cuts
}

func (s *summary) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d tests, %d messages, %d cuts", s.tests, s.messages, s.cuts)
}
