// Package strategy chooses the next step of a run among those that are possible.
package strategy

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// isFault reports whether a step breaks something.
func isFault(step string) bool {
	verb, _, _ := strings.Cut(step, " ")
	return slices.Contains([]string{"cancel", "cut", "kill", "hangup", "refuse", "lose"}, verb)
}

// Strategy draws the steps of a run: at random, or by priorities.
type Strategy struct {
	random     *rand.Rand
	faults     []int // the steps at which something breaks
	step       int
	priorities map[string]int // nil for random steps
	changes    []int          // the steps at which the priority of the next falls
}

// horizon is about how many steps a run has.
const horizon = 100

// New draws a strategy. Half of the runs use priorities with depth three, as in
// "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010).
func New(faults int, random *rand.Rand) *Strategy {
	c := &Strategy{random: random}
	for range faults {
		c.faults = append(c.faults, random.IntN(horizon))
	}
	if random.IntN(2) == 0 {
		c.priorities = map[string]int{}
		c.changes = []int{random.IntN(horizon), random.IntN(horizon)}
	}
	return c
}

// Choose returns one of the steps.
func (c *Strategy) Choose(enabled []string) string {
	c.step++
	faults := slices.IndexFunc(enabled, isFault)
	if faults < 0 {
		faults = len(enabled)
	}
	if slices.Contains(c.faults, c.step) && faults < len(enabled) {
		return enabled[faults+c.random.IntN(len(enabled)-faults)]
	}
	steps := enabled[:faults]
	if c.priorities == nil {
		if last := len(steps) - 1; last > 0 && steps[last] == "clock" && c.random.IntN(20) > 0 {
			steps = steps[:last]
		}
		return steps[c.random.IntN(len(steps))]
	}
	return c.highest(steps)
}

// highest returns the step of the actor with the highest priority.
func (c *Strategy) highest(steps []string) string {
	best := ""
	for _, s := range steps {
		if _, known := c.priorities[actor(s)]; !known {
			c.priorities[actor(s)] = 1000 + c.random.IntN(1000)
			if s == "clock" || strings.HasPrefix(s, "timeout") {
				c.priorities[actor(s)] = c.random.IntN(1100)
			}
		}
		if best == "" || c.priorities[actor(s)] > c.priorities[actor(best)] {
			best = s
		}
	}
	if slices.Contains(c.changes, c.step) || best == "clock" || strings.HasPrefix(best, "retry") {
		c.priorities[actor(best)] = -c.step // below all others
	}
	return best
}

// actor returns who takes a step: a connection, a command, or the clock.
func actor(step string) string {
	_, object, found := strings.Cut(step, " ")
	if !found {
		return step
	}
	return object
}
