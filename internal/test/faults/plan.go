package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// Plan is what a run does. It follows from a fault and a seed, or from a seed alone.
type Plan struct {
	Seed    uint64          `json:"seed"`
	Clients int             `json:"clients"`
	Strikes []PlannedStrike `json:"strikes"`
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
	// mostMixed bounds the strikes of a plan with different faults.
	mostMixed = 6
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
	return all, nil
}
