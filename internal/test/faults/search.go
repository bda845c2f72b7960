package faults

import "slices"

// attemptsToFail is how often a shorter plan is run before the search believes that it
// passes: the same plan does not interleave the same way twice.
const attemptsToFail = 3

// Shrink returns a plan that still fails and is short: without any of its strikes, with
// half the pause before one, with fewer clients or ungrouped, it passed.
func Shrink(p Plan, fails func(Plan) bool) Plan {
	for shorter := true; shorter; {
		shorter = false
		for _, candidate := range p.shorter() {
			if failsOnce(candidate, fails) {
				p, shorter = candidate, true
				break
			}
		}
	}
	return p
}

func failsOnce(p Plan, fails func(Plan) bool) bool {
	for range attemptsToFail {
		if fails(p) {
			return true
		}
	}
	return false
}

// shorter returns the plans that are one step shorter, the shortest first.
func (p Plan) shorter() []Plan {
	var plans []Plan
	add := func(change func(*Plan)) {
		q := p
		q.Strikes = slices.Clone(p.Strikes)
		change(&q)
		plans = append(plans, q)
	}
	for i := range p.Strikes {
		add(func(q *Plan) { q.Strikes = slices.Delete(q.Strikes, i, i+1) })
	}
	if p.Clients > 1 {
		add(func(q *Plan) { q.Clients /= 2 })
	}
	if p.Grouped {
		add(func(q *Plan) { q.Grouped = false })
	}
	for i, strike := range p.Strikes {
		if strike.After > 1 {
			add(func(q *Plan) { q.Strikes[i].After /= 2 })
		}
	}
	return plans
}
