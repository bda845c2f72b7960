package faults

import (
	"context"
	"slices"

	"example.com/orders/lab/cluster"
)

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
