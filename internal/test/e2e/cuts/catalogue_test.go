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
		"look-up of a used key":    func(t *testing.T) { cutLookup(t, true) },
		"look-up of an unused key": func(t *testing.T) { cutLookup(t, false) },
	}
	for _, route := range e2e.GuardedRoutes() {
		tests["command "+route] = func(t *testing.T) {
			r := startShop(t)
			r.cutCommand(t, func() command { return effective(r.direct.Prepare(t, route)) })
		}
	}
	for _, refusal := range e2e.GuardedRefusals() {
		tests["refusal "+refusal.String()] = func(t *testing.T) {
			r := startReplicas(t) // refusals are prepared by SQL, which breaks invariants
			r.cutCommand(t, func() command { return refused(r.direct.PrepareRefusal(t, refusal)) })
		}
	}
	for name, prepare := range cardCommands {
		tests["command "+name] = func(t *testing.T) { cutCardCommand(t, prepare) }
	}
	for name, prepare := range plainCommands {
		tests["command without a key "+name] = func(t *testing.T) { cutPlain(t, prepare) }
	}
	for name, prepare := range jobsByName {
		tests["job "+name] = func(t *testing.T) { cutJob(t, prepare) }
	}
	return tests
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
