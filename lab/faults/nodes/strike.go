package nodes

import (
	"context"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/cluster"
	"example.com/orders/lab/faults/clients"
)

const (
	// outage is the minimum length for a strike: longer than a primary's lease and a
	// client attempt.
	outage = 15 * time.Second
	// findLimit bounds a target lookup.
	findLimit = 10 * time.Second
)

// window is the time between a strike and full recovery.
type window struct {
	strike   Strike
	from, to time.Duration // since the history began
}

// strikeNodes breaks nodes while clients work, heals them, and waits until the cluster is
// whole.
func strikeNodes(l *clients.Load, s Strike) window {
	var nodes []*cluster.Node
	for _, b := range s {
		nodes = append(nodes, findTarget(l, b))
	}
	w := window{strike: s, from: l.History.Now()}
	for i, b := range s {
		deal(l, b, nodes[i])
	}
	for i, b := range s {
		if t, _ := targetNamed(b.Target); s.isMoved(t) {
			awaitMoved(l, t, nodes[i])
		}
	}
	time.Sleep(outage - (l.History.Now() - w.from)) // minimum strike length; no event to wait for
	for i, b := range s {
		heal(l, b, nodes[i])
	}
	l.AwaitWhole(l.T)
	w.to = l.History.Now()
	l.T.Logf("%s (%s): whole after %s", s, names(nodes), (w.to - w.from).Round(time.Second))
	l.AwaitDecided(clients.Pause)
	return w
}

// names returns node names.
func names(nodes []*cluster.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name())
	}
	return all
}

// findTarget returns the node that a blow is meant for.
func findTarget(l *clients.Load, b Blow) (found *cluster.Node) {
	t, _ := targetNamed(b.Target)
	e2e.Eventually(l.T, "somebody is the "+b.Target, func() bool {
		ctx, cancel := context.WithTimeout(l.T.Context(), findLimit)
		defer cancel()
		var err error
		found, err = t.find(ctx, l.Cluster)
		return err == nil
	})
	return found
}

// awaitMoved waits until another node takes over.
func awaitMoved(l *clients.Load, t target, from *cluster.Node) {
	e2e.Eventually(l.T, "another node is the "+t.name, func() bool {
		ctx, cancel := context.WithTimeout(l.T.Context(), findLimit)
		defer cancel()
		now, err := t.find(ctx, l.Cluster)
		return err == nil && now != from
	})
	l.Counters.Add("another "+t.name, 1)
}

// deal breaks a node.
func deal(l *clients.Load, b Blow, n *cluster.Node) {
	switch b.Way {
	case kill:
		n.Kill()
	case killInCommit.Way:
		awaitCommit(l)
		n.Kill()
	case stop:
		n.Pause()
	case cut:
		if err := n.Isolate(); err != nil {
			l.T.Fatal(err)
		}
	}
}

// heal lets a node work again.
func heal(l *clients.Load, b Blow, n *cluster.Node) {
	var err error
	switch b.Way {
	case stop:
		n.Resume()
	case cut:
		err = n.Heal()
	default:
		err = n.Start()
	}
	if err != nil {
		l.T.Fatal(err)
	}
}

// awaitCommit stops the primary's WAL senders until a COMMIT waits for them. Without
// synchronous replication no COMMIT waits, and the primary acknowledges commits that no
// standby gets.
func awaitCommit(l *clients.Load) {
	rows, _ := l.DB.Query(l.T.Context(), `SELECT pid FROM pg_stat_replication`) // CollectRows returns the error
	senders, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		l.T.Fatal(err)
	}
	for _, pid := range senders {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			l.T.Fatal(err)
		}
	}
	before := l.Decided.Load()
	e2e.Eventually(l.T, "a COMMIT waits, or none does", func() bool {
		return l.Count(l.T, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`) > 0 || l.Decided.Load() > before+clients.Pause
	})
}
