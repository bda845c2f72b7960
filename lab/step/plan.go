package step

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/orders/lab/step/strategy"
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
	return p, w.execute(t, p, strategy.New(p.faults, random).Choose)
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
