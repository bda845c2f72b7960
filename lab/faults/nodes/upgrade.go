package nodes

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/cluster"
	"example.com/orders/lab/faults/checks"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// The migrations of the next version expand the schema, and those of the version after
// it contract it. Rows from before have no channel; a back-fill between the two sets it.
var (
	expansion = []world.Migration{
		{Up: "ALTER TABLE orders ADD COLUMN channel text;\nALTER TABLE orders ALTER COLUMN channel SET DEFAULT 'shop';\n"},
		{Up: "CREATE INDEX CONCURRENTLY orders_of_channel ON orders (channel, id) WHERE channel >= '';\n"},
	}
	contraction = []world.Migration{
		{Up: "ALTER TABLE orders ADD CONSTRAINT channel_is_set CHECK (channel IS NOT NULL) NOT VALID;\n"},
		{Up: "ALTER TABLE orders VALIDATE CONSTRAINT channel_is_set;\n"},
		{Up: "ALTER TABLE orders ALTER COLUMN channel SET NOT NULL, DROP CONSTRAINT channel_is_set;\n"},
	}
)

// fillBatch sets the channel in a batch of rows, and skips those that commands have
// locked.
const fillBatch = `UPDATE orders SET channel = 'shop' WHERE id IN (
	SELECT id FROM orders WHERE channel IS NULL ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)`

// Upgrade upgrades a cluster from a commit, replica by replica, while clients work.
// Then it fills and contracts the new column. No command may exceed the client's
// deadline, and every replica must replay old responses after each step.
func Upgrade(t testing.TB, seed uint64, from string) {
	t.Helper()
	next, after := world.BuildNext(t, expansion), world.BuildNext(t, slices.Concat(expansion, contraction))
	s := world.StartOnCluster(t, world.BuildAt(t, from), false)
	s.ReportAtEnd(t, fmt.Sprintf("rolling-upgrade SEED=%d FROM=%s", seed, from))
	l := clients.New(t, s, seed, verdictsOfBalancer)
	conclude := startWork(l)
	migrateTo(l, next)
	for _, replica := range s.Cluster.Role("orders") {
		replace(l, replica, next)
	}
	backfill(l)
	migrateTo(l, after)
	conclude()
	var slowest time.Duration
	for _, command := range l.Finished() {
		slowest = max(slowest, command.To-command.From)
	}
	if slowest > clientDeadline {
		t.Errorf("a command took %s, and clients give up after %s", slowest, clientDeadline)
	}
	t.Logf("figures: %d commands, the slowest took %s", len(l.Finished()), slowest.Round(time.Millisecond))
}

// migrateTo runs the migrations of a version. The running replicas stay in the balancer.
func migrateTo(l *clients.Load, binary string) {
	if err := l.Cluster.Migrate(l.T.Context(), binary); err != nil {
		l.T.Fatal(err)
	}
	if err := l.Cluster.Whole(l.T.Context()); err != nil {
		l.T.Errorf("after a migration: %v", err)
	}
	checks.WantReplayedEverywhere(l)
}

// replace replaces a replica's version, and waits until the balancer sends requests to it.
func replace(l *clients.Load, replica *cluster.Node, binary string) {
	ctx, cancel := context.WithTimeout(l.T.Context(), time.Minute)
	defer cancel()
	if err := replica.Terminate(ctx); err != nil {
		l.T.Fatal(err)
	}
	replica.Use(binary)
	if err := replica.Start(); err != nil {
		l.T.Fatal(err)
	}
	l.AwaitWhole(l.T)
	checks.WantReplayedEverywhere(l)
}

// backfill fills the new column, batch by batch.
func backfill(l *clients.Load) {
	var filled int64
	e2e.Eventually(l.T, "no row is left to fill", func() bool {
		batch, err := l.DB.Exec(l.T.Context(), fillBatch)
		if err != nil {
			l.T.Fatal(err)
		}
		filled += batch.RowsAffected()
		return l.Count(l.T, "SELECT count(*) FROM orders WHERE channel IS NULL") == 0
	})
	if filled == 0 {
		l.T.Error("the version before has written no row that the back-fill had to fill")
	}
}
