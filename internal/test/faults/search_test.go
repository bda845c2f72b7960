package faults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A plan without strikes asks for no proof, and passes whatever the fault does.
func TestPlanOf_StrikesWithEachFault(t *testing.T) {
	t.Parallel()
	for _, f := range All {
		p := PlanOf(f, 7)
		all, err := p.union()
		if err != nil || len(p.Strikes) == 0 || len(all.Proof) != len(f.Proof) {
			t.Errorf("%s: the plan %s proves %q, %v", f.Name, p, all.Proof, err)
		}
		if f.Strike != nil && len(f.Proof) == 0 {
			t.Errorf("%s: nothing proves that it happened", f.Name)
		}
	}
}

func TestShortPlans_HaveEachFaultOfTheShortFormOnce(t *testing.T) {
	t.Parallel()
	strikes := map[string]int{}
	for _, p := range ShortPlans(7) {
		if _, err := p.union(); err != nil {
			t.Error(err)
		}
		for _, s := range p.Strikes {
			strikes[s.Fault]++
		}
	}
	for _, f := range All {
		if want := map[bool]int{true: 1}[f.Short]; strikes[f.Name] != want {
			t.Errorf("%s strikes %d times in the short form, want %d", f.Name, strikes[f.Name], want)
		}
	}
}

func TestShrink_KeepsWhatFails(t *testing.T) {
	t.Parallel()
	long := Plan{Seed: 7, Clients: 8, Grouped: true, Strikes: []PlannedStrike{
		{"killed-backends", 40}, {"killed-replica", 33}, {"killed-backends", 51}, {"killed-replica", 38},
	}}
	runs := 0
	// The defect needs two clients, and a killed replica after ten operations.
	fails := func(p Plan) bool {
		runs++
		for _, s := range p.Strikes {
			if s.Fault == "killed-replica" && s.After >= 10 && p.Clients >= 2 {
				return true
			}
		}
		return false
	}

	got := Shrink(long, fails)

	want := Plan{Seed: 7, Clients: 2, Strikes: []PlannedStrike{{"killed-replica", 19}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if runs > 50 {
		t.Errorf("%d runs for a plan of four strikes", runs)
	}
}

func TestShrink_RunsAPlanAgainThatMayPassByChance(t *testing.T) {
	t.Parallel()
	runs := 0
	fails := func(Plan) bool { runs++; return runs%attemptsToFail == 0 }
	if got := Shrink(Plan{Clients: 2}, fails); got.Clients != 1 {
		t.Errorf("%d clients, want 1: one of %d runs failed", got.Clients, attemptsToFail)
	}
}

func TestPlan_IsWhatItsTextSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		p := MixedPlan(seed)
		if len(p.Strikes) == 0 {
			t.Errorf("seed %d: no strike", seed)
		}
		got, err := ParsePlan(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if p := MixedPlan(3); p.String() != MixedPlan(3).String() {
		t.Error("the same seed draws two plans")
	}
}

func TestParsePlan_RefusesUnknownFaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"strikes": [{"fault": "earthquake"}]}`, `{`} {
		if _, err := ParsePlan(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
