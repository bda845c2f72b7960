package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// ClusterPlan describes a run on a cluster.
type ClusterPlan struct {
	Seed    uint64
	Strikes []Strike
	// Asynchronous lets no COMMIT wait for a standby: failovers lose effects, and the
	// run must fail.
	Asynchronous bool
}

// Strike breaks one node, or two at the same time.
type Strike []Blow

// Blow breaks one node in one way.
type Blow struct{ Way, Target string }

// Ways to break a node, as in docs/operate.md.
const (
	kill = "kill"
	stop = "stop"
	cut  = "cut"
)

var ways = []string{kill, stop, cut}

// killInCommit kills the primary while a COMMIT waits for the synchronous standby.
var killInCommit = Blow{"kill-in-commit", "primary"}

// Without returns the plan without the strikes that contain a way.
func (p ClusterPlan) Without(way string) ClusterPlan {
	p.Strikes = slices.DeleteFunc(slices.Clone(p.Strikes), func(s Strike) bool {
		return slices.ContainsFunc(s, func(b Blow) bool { return b.Way == way })
	})
	return p
}

// PlanOfCluster returns the plan that breaks each distinct node in each way, and then
// some pairs.
func PlanOfCluster(seed uint64, pairs int) ClusterPlan {
	random := rand.New(rand.NewPCG(seed, 4))
	p := ClusterPlan{Seed: seed}
	for _, t := range targets {
		for _, way := range ways {
			p.Strikes = append(p.Strikes, Strike{{way, t.name}})
		}
	}
	for range pairs {
		two := random.Perm(len(targets))[:2]
		p.Strikes = append(p.Strikes, Strike{
			{oneOf(random, ways), targets[two[0]].name}, {oneOf(random, ways), targets[two[1]].name},
		})
	}
	return p
}

// PlanOfFailovers returns the plan that kills the primary repeatedly, every second time
// while a COMMIT waits.
func PlanOfFailovers(seed uint64, failovers int) ClusterPlan {
	p := ClusterPlan{Seed: seed}
	for i := range failovers {
		blow := Blow{kill, "primary"}
		if i%2 == 1 {
			blow = killInCommit
		}
		p.Strikes = append(p.Strikes, Strike{blow})
	}
	return p
}

// String returns the blow in the syntax for [ParseStrikes], such as "kill primary".
func (b Blow) String() string { return b.Way + " " + b.Target }

// String returns the strike in the syntax for [ParseStrikes].
func (s Strike) String() string {
	var blows []string
	for _, b := range s {
		blows = append(blows, b.String())
	}
	return strings.Join(blows, " + ")
}

// String returns the target and the settings that repeat the plan.
func (p ClusterPlan) String() string {
	var strikes []string
	for _, s := range p.Strikes {
		strikes = append(strikes, s.String())
	}
	again := fmt.Sprintf("cluster-faults SEED=%d STRIKES='%s'", p.Seed, strings.Join(strikes, ", "))
	if p.Asynchronous {
		again += " ASYNCHRONOUS=1"
	}
	return again
}

// ParseStrikes parses strikes, such as "kill primary, stop standby + cut orders1".
func ParseStrikes(text string) ([]Strike, error) {
	var strikes []Strike
	for part := range strings.SplitSeq(text, ",") {
		var s Strike
		for blow := range strings.SplitSeq(part, "+") {
			way, name, _ := strings.Cut(strings.TrimSpace(blow), " ")
			b := Blow{way, name}
			_, known := targetNamed(name)
			if !known || b != killInCommit && !slices.Contains(ways, way) {
				return nil, fmt.Errorf("there is no strike %q", blow)
			}
			s = append(s, b)
		}
		strikes = append(strikes, s)
	}
	return strikes, nil
}
