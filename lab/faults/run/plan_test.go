package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/lab/faults/faults"
)

// A plan without strikes asks for no proof, and passes whatever the fault does.
func TestPlanOf_StrikesWithEachFault(t *testing.T) {
	t.Parallel()
	for _, f := range faults.All {
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
	for _, f := range faults.All {
		if want := map[bool]int{true: 1}[f.Short]; strikes[f.Name] != want {
			t.Errorf("%s strikes %d times in the short form, want %d", f.Name, strikes[f.Name], want)
		}
	}
}

func TestPlan_IsWhatItsTextSays(t *testing.T) {
	t.Parallel()
	for _, p := range ShortPlans(7) {
		got, err := ParsePlan(p.String())
		if diff := cmp.Diff(p, got); diff != "" || err != nil {
			t.Errorf("err = %v (-want +got):\n%s", err, diff)
		}
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
