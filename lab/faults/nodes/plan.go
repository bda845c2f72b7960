package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/orders/lab/cluster"
	"example.com/orders/lab/faults/clients"
)

// Plan describes a run on a cluster.
type Plan struct {
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
func (p Plan) Without(way string) Plan {
	p.Strikes = slices.DeleteFunc(slices.Clone(p.Strikes), func(s Strike) bool {
		return slices.ContainsFunc(s, func(b Blow) bool { return b.Way == way })
	})
	return p
}

// EveryNode returns the plan that breaks each distinct node in each way, and then
// some pairs.
func EveryNode(seed uint64, pairs int) Plan {
	random := rand.New(rand.NewPCG(seed, 4))
	p := Plan{Seed: seed}
	for _, t := range targets {
		for _, way := range ways {
			p.Strikes = append(p.Strikes, Strike{{way, t.name}})
		}
	}
	for range pairs {
		two := random.Perm(len(targets))[:2]
		p.Strikes = append(p.Strikes, Strike{
			{clients.OneOf(random, ways), targets[two[0]].name}, {clients.OneOf(random, ways), targets[two[1]].name},
		})
	}
	return p
}

// Failovers returns the plan that kills the primary repeatedly, every second time
// while a COMMIT waits.
func Failovers(seed uint64, failovers int) Plan {
	p := Plan{Seed: seed}
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
func (p Plan) String() string {
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

// target is a cluster part that one node plays at a time.
type target struct {
	name string
	// role is the node's role, such as etcd.
	role string
	// find returns the node that plays the part now.
	find func(context.Context, *cluster.Cluster) (*cluster.Node, error)
	// moves reports whether another node takes over while this one is away.
	moves bool
}

// targets are the possible victims.
var targets = []target{
	{"primary", "postgres", find((*cluster.Cluster).Primary), true},
	{"standby", "postgres", find((*cluster.Cluster).SyncStandby), true},
	{"asynchronous standby", "postgres", findOther("postgres", (*cluster.Cluster).Primary, (*cluster.Cluster).SyncStandby), false},
	{"etcd leader", "etcd", find((*cluster.Cluster).EtcdLeader), true},
	{"etcd follower", "etcd", findOther("etcd", (*cluster.Cluster).EtcdLeader), false},
	{"pgbouncer", "pgbouncer", findPgbouncer, false},
	{"haproxy", "haproxy", findNamed("haproxy"), false},
	{"nats leader", "nats", find((*cluster.Cluster).StreamLeader), true},
	{"nats follower", "nats", findOther("nats", (*cluster.Cluster).StreamLeader), false},
	{"orders1", "orders", findNamed("orders1"), false},
	{"orders2", "orders", findNamed("orders2"), false},
	{"orders3", "orders", findNamed("orders3"), false},
}

// targetNamed returns a target by name.
func targetNamed(name string) (target, bool) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
	if i < 0 {
		return target{}, false
	}
	return targets[i], true
}

// isMoved reports whether another node must take over a part. With two nodes down, the
// third has no majority to elect one.
func (s Strike) isMoved(t target) bool {
	n := 0
	for _, b := range s {
		if other, _ := targetNamed(b.Target); other.role == t.role {
			n++
		}
	}
	return t.moves && n == 1
}

type finder = func(context.Context, *cluster.Cluster) (*cluster.Node, error)

func find(of func(*cluster.Cluster, context.Context) (*cluster.Node, error)) finder {
	return func(ctx context.Context, c *cluster.Cluster) (*cluster.Node, error) { return of(c, ctx) }
}

func findNamed(name string) finder {
	return func(_ context.Context, c *cluster.Cluster) (*cluster.Node, error) { return c.Node(name), nil }
}

// findOther returns a node in a role that plays none of these parts.
func findOther(role string, parts ...func(*cluster.Cluster, context.Context) (*cluster.Node, error)) finder {
	return func(ctx context.Context, c *cluster.Cluster) (*cluster.Node, error) {
		others := c.Role(role)
		for _, part := range parts {
			n, err := part(c, ctx)
			if err != nil {
				return nil, err
			}
			others = slices.DeleteFunc(others, func(other *cluster.Node) bool { return other == n })
		}
		return others[0], nil
	}
}

// findPgbouncer returns the pgbouncer in front of the primary; all transactions pass
// it.
func findPgbouncer(ctx context.Context, c *cluster.Cluster) (*cluster.Node, error) {
	primary, err := c.Primary(ctx)
	if err != nil {
		return nil, err
	}
	return c.Pgbouncer(primary), nil
}
