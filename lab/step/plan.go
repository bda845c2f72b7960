package step

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plan is what a seed decides before a run.
type plan struct {
	meeting  string
	requests []request
	lanes    int // of each replica
	faults   int
}

// request is a command at a replica.
type request struct {
	*command
	number, replica int
}

// newPlan draws a plan: a meeting of commands about one row, and up to two more commands,
// some of them sent twice. Consecutive seeds enumerate the meetings of each topic.
func newPlan(seed uint64) (plan, *rand.Rand) {
	random := rand.New(rand.NewPCG(seed, 0))
	p := plan{lanes: 1 + random.IntN(2), faults: random.IntN(3)}
	replicas := 1 + random.IntN(2) // with one, more commands share transactions
	topics := slices.Sorted(maps.Keys(catalogue))
	n := uint64(len(topics))
	topic := catalogue[topics[seed%n]]
	all := meetings(len(topic))
	meeting := all[seed/n*scatter%uint64(len(all))]
	p.meeting = fmt.Sprint(topics[seed%n], meeting)
	for _, i := range meeting {
		p.draw(random, topic[i], replicas)
	}
	for range random.IntN(3) {
		if random.IntN(5) == 0 {
			topic = catalogue[topics[random.IntN(len(topics))]]
		}
		p.draw(random, topic[random.IntN(len(topic))], replicas)
	}
	if c := p.requests[0]; c.key != "" && random.IntN(6) == 0 {
		p.add(lookUp(c.by, c.key), random.IntN(2))
	}
	return p, random
}

// scatter is a prime number, so that a few seeds have different commands.
const scatter = 7919

// draw adds a command, and perhaps the same request at the other replica.
func (p *plan) draw(random *rand.Rand, of *command, replicas int) {
	c := p.keyed(of)
	p.add(c, random.IntN(replicas))
	if c.key != "" && random.IntN(4) == 0 {
		p.add(c, 1-p.requests[len(p.requests)-1].replica)
	}
}

// run executes the plan of a seed.
func (w *world) run(t *testing.T, seed uint64) (plan, *run) {
	t.Helper()
	p, random := newPlan(seed)
	w.met[p.meeting] = true
	return p, w.execute(t, p, newChooser(p, random).choose)
}

// keyed returns a copy of a command, with a key if it needs one. Different people use equal
// keys.
func (p *plan) keyed(of *command) *command {
	c, number := *of, 1
	for _, r := range p.requests {
		if r.by.Subject == c.by.Subject {
			number++
		}
	}
	if c.guarded() {
		c.key = fmt.Sprint("key-", number)
	}
	return &c
}

func (p *plan) add(c *command, replica int) {
	p.requests = append(p.requests, request{c, len(p.requests) + 1, replica})
}

// isFault reports whether a step breaks something.
func isFault(step string) bool {
	verb, _, _ := strings.Cut(step, " ")
	return slices.Contains([]string{"cancel", "cut", "kill", "hangup"}, verb)
}

// chooser draws the steps of a run: at random, or by priorities.
type chooser struct {
	random     *rand.Rand
	faults     []int // the steps at which something breaks
	step       int
	priorities map[string]int // nil for random steps
	changes    []int          // the steps at which the priority of the next falls
}

// horizon is about how many steps a run has.
const horizon = 100

// newChooser draws a strategy. Half of the runs use priorities with depth three, as in
// "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010).
func newChooser(p plan, random *rand.Rand) *chooser {
	c := &chooser{random: random}
	for range p.faults {
		c.faults = append(c.faults, random.IntN(horizon))
	}
	if random.IntN(2) == 0 {
		c.priorities = map[string]int{}
		c.changes = []int{random.IntN(horizon), random.IntN(horizon)}
	}
	return c
}

// choose returns one of the steps.
func (c *chooser) choose(enabled []string) string {
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
func (c *chooser) highest(steps []string) string {
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
