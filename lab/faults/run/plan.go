package run

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/faults"
	"example.com/orders/lab/faults/world"
)

// Plan describes a run. It follows from a fault and a seed.
type Plan struct {
	Seed    uint64          `json:"seed"`
	Clients int             `json:"clients"`
	Strikes []PlannedStrike `json:"strikes"`
	// Grouped makes commands wait until others can share their transaction.
	Grouped bool `json:"grouped,omitempty"`
}

// PlannedStrike is a fault that strikes when clients have decided some more operations.
type PlannedStrike struct {
	Fault string `json:"fault"`
	After int64  `json:"after"`
}

// mostShort bounds the faults in a short plan; two plans run at a time.
const mostShort = 4

// PlanOf returns the plan with only one fault.
func PlanOf(f faults.Fault, seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := Plan{Seed: seed, Clients: clients.Most}
	for range max(f.Strikes, 1) {
		p.Strikes = append(p.Strikes, PlannedStrike{f.Name, clients.Pause + random.Int64N(clients.Pause)})
	}
	return p
}

// ShortPlans returns the plans in the short form. Its faults share few systems, because
// most time goes into starting and settling a system. The first plan is grouped.
func ShortPlans(seed uint64) []Plan {
	random := rand.New(rand.NewPCG(seed, 3))
	var plans []Plan
	for _, f := range faults.All {
		if !f.Short {
			continue
		}
		i := slices.IndexFunc(plans, func(p Plan) bool { return len(p.Strikes) < mostShort && p.canHave(f) })
		if i < 0 {
			i = len(plans)
			plans = append(plans, Plan{Seed: seed, Clients: clients.Most, Grouped: i == 0})
		}
		plans[i].Strikes = append(plans[i].Strikes, PlannedStrike{f.Name, clients.Pause + random.Int64N(clients.Pause)})
	}
	return plans
}

// canHave reports whether the plan's system suits another fault.
func (p Plan) canHave(f faults.Fault) bool {
	all, err := p.union()
	if err != nil {
		return false
	}
	_, possible := all.Needs.With(f.Needs)
	return possible
}

// String returns the plan as JSON for [ParsePlan].
func (p Plan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("faults: " + err.Error()) // only numbers and texts
	}
	return string(text)
}

// ParsePlan parses a plan. All its faults must exist and be possible in one system.
func ParsePlan(text string) (Plan, error) {
	var p Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Plan{}, fmt.Errorf("read the plan %s: %w", text, err)
	}
	if _, err := p.union(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// union returns the combined needs, verdicts and proofs.
func (p Plan) union() (all faults.Fault, err error) {
	known := map[string]bool{}
	for _, strike := range p.Strikes {
		f, found := faults.ByName(strike.Fault)
		if !found {
			return faults.Fault{}, fmt.Errorf("there is no fault %q", strike.Fault)
		}
		if known[f.Name] {
			continue
		}
		known[f.Name] = true
		needs, possible := all.Needs.With(f.Needs)
		if !possible {
			return faults.Fault{}, fmt.Errorf("%s cannot strike together with the faults before it", f.Name)
		}
		all.Needs = needs
		all.Verdicts = append(all.Verdicts, f.Verdicts...)
		all.Proof = append(all.Proof, f.Proof...)
	}
	if p.Grouped {
		all.Needs.Grouped = true
		all.Proof = append(all.Proof, world.SharedTransactions)
	}
	return all, nil
}
