package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Plan is what a run does. It follows from a fault and a seed, or from a seed alone.
type Plan struct {
	Seed    uint64          `json:"seed"`
	Clients int             `json:"clients"`
	Strikes []PlannedStrike `json:"strikes"`
	// Grouped makes commands wait until there are others to share a transaction with.
	Grouped bool `json:"grouped,omitempty"`
}

// PlannedStrike is a fault that strikes when clients have decided some more operations.
type PlannedStrike struct {
	Fault string `json:"fault"`
	After int64  `json:"after"`
}

const (
	// mostClients work at the same time.
	mostClients = 8
	// pause is how many operations are decided at least before a strike.
	pause = 30
	// mostMixed bounds the strikes of a drawn plan with different faults.
	mostMixed = 6
	// mostShort bounds the faults of a plan of the short form: two plans run at a time.
	mostShort = 4
)

// PlanOf returns the plan in which one fault strikes.
func PlanOf(f Fault, seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := Plan{Seed: seed, Clients: mostClients}
	for range max(f.Strikes, 1) {
		p.Strikes = append(p.Strikes, PlannedStrike{f.Name, pause + random.Int64N(pause)})
	}
	return p
}

// ShortPlans returns the plans of the short form. Its faults strike in few systems, because
// most of the time goes into starting one and settling its work. The first is grouped.
func ShortPlans(seed uint64) []Plan {
	random := rand.New(rand.NewPCG(seed, 3))
	var plans []Plan
	for _, f := range All {
		if !f.Short {
			continue
		}
		i := slices.IndexFunc(plans, func(p Plan) bool { return len(p.Strikes) < mostShort && p.canHave(f) })
		if i < 0 {
			i = len(plans)
			plans = append(plans, Plan{Seed: seed, Clients: mostClients, Grouped: i == 0})
		}
		plans[i].Strikes = append(plans[i].Strikes, PlannedStrike{f.Name, pause + random.Int64N(pause)})
	}
	return plans
}

// canHave reports whether one more fault can strike in the system of the plan.
func (p Plan) canHave(f Fault) bool {
	all, err := p.union()
	if err != nil {
		return false
	}
	_, possible := all.Needs.with(f.Needs)
	return possible
}

// MixedPlan returns a plan in which different faults strike that can do so in one system.
func MixedPlan(seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 2))
	p := Plan{Seed: seed, Clients: mostClients}
	var needs Needs
	for _, i := range random.Perm(len(All)) {
		both, possible := needs.with(All[i].Needs)
		if !possible || All[i].Strike == nil {
			continue
		}
		needs = both
		for range 1 + random.IntN(2) {
			p.Strikes = append(p.Strikes, PlannedStrike{All[i].Name, pause + random.Int64N(pause)})
		}
		if len(p.Strikes) >= mostMixed {
			break
		}
	}
	random.Shuffle(len(p.Strikes), func(i, j int) { p.Strikes[i], p.Strikes[j] = p.Strikes[j], p.Strikes[i] })
	p.Grouped = random.IntN(2) == 0
	return p
}

// String returns the plan as JSON, which [ParsePlan] reads.
func (p Plan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("faults: " + err.Error()) // a plan has only numbers and texts
	}
	return string(text)
}

// ParsePlan reads a plan. Each of its faults must exist, and all of them must be possible
// in one system.
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

// union returns what the faults of the plan need, cause, admit and prove together.
func (p Plan) union() (all Fault, err error) {
	known := map[string]bool{}
	for _, strike := range p.Strikes {
		f, found := ByName(strike.Fault)
		if !found {
			return Fault{}, fmt.Errorf("there is no fault %q", strike.Fault)
		}
		if known[f.Name] {
			continue
		}
		known[f.Name] = true
		needs, possible := all.Needs.with(f.Needs)
		if !possible {
			return Fault{}, fmt.Errorf("%s cannot strike together with the faults before it", f.Name)
		}
		all.Needs = needs
		all.Verdicts = append(all.Verdicts, f.Verdicts...)
		all.Admits = append(all.Admits, f.Admits...)
		all.Proof = append(all.Proof, f.Proof...)
	}
	if p.Grouped {
		all.Needs.Grouped = true
		all.Proof = append(all.Proof, sharedTransactions)
	}
	return all, nil
}
