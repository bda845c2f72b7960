package faults

import (
	"context"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/cluster"
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

// strike breaks nodes while clients work, heals them, and waits until the cluster is
// whole.
func (l *Load) strike(s Strike) window {
	l.t.Helper()
	var nodes []*cluster.Node
	for _, b := range s {
		nodes = append(nodes, l.findTarget(b))
	}
	w := window{strike: s, from: l.History.Now()}
	for i, b := range s {
		l.deal(b, nodes[i])
	}
	for i, b := range s {
		if t, _ := targetNamed(b.Target); s.isMoved(t) {
			l.awaitMoved(t, nodes[i])
		}
	}
	time.Sleep(outage - (l.History.Now() - w.from)) // minimum strike length; no event to wait for
	for i, b := range s {
		l.heal(b, nodes[i])
	}
	l.awaitWhole()
	w.to = l.History.Now()
	l.t.Logf("%s (%s): whole after %s", s, names(nodes), (w.to - w.from).Round(time.Second))
	l.awaitDecided(pause)
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
func (l *Load) findTarget(b Blow) (found *cluster.Node) {
	l.t.Helper()
	t, _ := targetNamed(b.Target)
	e2e.Eventually(l.t, "somebody is the "+b.Target, func() bool {
		ctx, cancel := context.WithTimeout(l.t.Context(), findLimit)
		defer cancel()
		var err error
		found, err = t.find(ctx, l.Cluster)
		return err == nil
	})
	return found
}

// awaitMoved waits until another node takes over.
func (l *Load) awaitMoved(t target, from *cluster.Node) {
	l.t.Helper()
	e2e.Eventually(l.t, "another node is the "+t.name, func() bool {
		ctx, cancel := context.WithTimeout(l.t.Context(), findLimit)
		defer cancel()
		now, err := t.find(ctx, l.Cluster)
		return err == nil && now != from
	})
	l.Counters.Add("another "+t.name, 1)
}

// deal breaks a node.
func (l *Load) deal(b Blow, n *cluster.Node) {
	l.t.Helper()
	switch b.Way {
	case kill:
		n.Kill()
	case killInCommit.Way:
		l.awaitCommit()
		n.Kill()
	case stop:
		n.Pause()
	case cut:
		if err := n.Isolate(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// heal lets a node work again.
func (l *Load) heal(b Blow, n *cluster.Node) {
	l.t.Helper()
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
		l.t.Fatal(err)
	}
}

// awaitCommit stops the primary's WAL senders until a COMMIT waits for them. Without
// synchronous replication no COMMIT waits, and the primary acknowledges commits that no
// standby gets.
func (l *Load) awaitCommit() {
	l.t.Helper()
	rows, _ := l.DB.Query(l.t.Context(), `SELECT pid FROM pg_stat_replication`) // CollectRows returns the error
	senders, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		l.t.Fatal(err)
	}
	for _, pid := range senders {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			l.t.Fatal(err)
		}
	}
	before := l.decided.Load()
	e2e.Eventually(l.t, "a COMMIT waits, or none does", func() bool {
		return l.Count(l.t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`) > 0 || l.decided.Load() > before+pause
	})
}

// awaitWhole waits until all nodes work and the standbys have caught up.
func (l *Load) awaitWhole() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), clusterStart)
	defer cancel()
	if err := l.Cluster.AwaitWhole(ctx); err != nil {
		l.t.Fatal(err)
	}
}
