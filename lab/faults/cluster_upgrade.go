package faults

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/cluster"
	"example.com/orders/migrations"
)

// The migrations of the next version expand the schema, and those of the version after
// it contract it. Rows from before have no channel; a back-fill between the two sets it.
var (
	expansion = []string{
		"ALTER TABLE orders ADD COLUMN channel text;\nALTER TABLE orders ALTER COLUMN channel SET DEFAULT 'shop';\n",
		"CREATE INDEX CONCURRENTLY orders_of_channel ON orders (channel, id) WHERE channel >= '';\n",
	}
	contraction = []string{
		"ALTER TABLE orders ADD CONSTRAINT channel_is_set CHECK (channel IS NOT NULL) NOT VALID;\n",
		"ALTER TABLE orders VALIDATE CONSTRAINT channel_is_set;\n",
		"ALTER TABLE orders ALTER COLUMN channel SET NOT NULL, DROP CONSTRAINT channel_is_set;\n",
	}
)

// backfill sets the channel in a batch of rows, and skips those that commands have
// locked.
const backfill = `UPDATE orders SET channel = 'shop' WHERE id IN (
	SELECT id FROM orders WHERE channel IS NULL ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)`

// RunUpgrade upgrades a cluster from a commit, replica by replica, while clients work.
// Then it fills and contracts the new column. No command may exceed the client's
// deadline, and every replica must replay old responses after each step.
func RunUpgrade(t testing.TB, seed uint64, from string) {
	t.Helper()
	next := build(t, root, withMigrations(t, numbered(t, expansion)))
	after := build(t, root, withMigrations(t, numbered(t, slices.Concat(expansion, contraction))))
	s := startOnCluster(t, buildAt(t, from), false)
	reportAtEnd(t, fmt.Sprintf("rolling-upgrade SEED=%d FROM=%s", seed, from), s)
	l := newLoad(t, s, seed, verdictsOfBalancer)
	conclude := l.workOnCluster()
	l.migrateTo(next)
	for _, replica := range s.Cluster.Role("orders") {
		l.replace(replica, next)
	}
	l.backfill()
	l.migrateTo(after)
	conclude()
	for _, command := range l.finished {
		if took := command.to - command.from; took > clientDeadline {
			t.Errorf("a command took %s, and clients give up after %s", took, clientDeadline)
		}
	}
}

// buildAt builds the service at a commit.
func buildAt(t testing.TB, commit string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	command(t, root, "git", "archive", "--output="+archive, commit)
	command(t, dir, "tar", "-xf", archive)
	return build(t, dir)
}

// numbered returns migrations that follow the newest one.
func numbered(t testing.TB, ups []string) map[string]string {
	t.Helper()
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i, up := range ups {
		files[fmt.Sprintf("%04d_rolling.up.sql", int(newest)+i+1)] = up
	}
	return files
}

// migrateTo runs the migrations of a version. The running replicas stay in the balancer.
func (l *Load) migrateTo(binary string) {
	l.t.Helper()
	if err := l.Cluster.Migrate(l.t.Context(), binary); err != nil {
		l.t.Fatal(err)
	}
	if err := l.Cluster.Whole(l.t.Context()); err != nil {
		l.t.Errorf("after a migration: %v", err)
	}
	l.wantReplayedEverywhere()
}

// replace replaces a replica's version, and waits until the balancer sends requests to it.
func (l *Load) replace(replica *cluster.Node, binary string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	if err := replica.Terminate(ctx); err != nil {
		l.t.Fatal(err)
	}
	replica.Use(binary)
	if err := replica.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.awaitWhole()
	l.wantReplayedEverywhere()
}

// wantReplayedEverywhere lets the clients work for a while. Then it sends some of all
// commands to each replica, the last ones included, and wants their first responses.
func (l *Load) wantReplayedEverywhere() {
	l.t.Helper()
	l.awaitDecided(5 * pause)
	l.mu.Lock()
	promises := slices.Clone(l.promises)
	l.mu.Unlock()
	c := l.newClient(checker)
	for _, replica := range l.Endpoints {
		for i := len(promises) - 1; i >= 0; i -= max(1, len(promises)/pause) {
			p := promises[i]
			again := c.send(l.t.Context(), replica, p.op)
			if again.Result != "reused" || again.Response != p.first.Response {
				l.t.Errorf("a stored response is replayed by replica %d (I3), but:\n%v\n%v", replica.Number, p.first, again)
			}
			l.Counters.Add(promisesChecked, 1)
		}
	}
}

// backfill fills the new column, batch by batch.
func (l *Load) backfill() {
	l.t.Helper()
	var filled int64
	e2e.Eventually(l.t, "no row is left to fill", func() bool {
		batch, err := l.DB.Exec(l.t.Context(), backfill)
		if err != nil {
			l.t.Fatal(err)
		}
		filled += batch.RowsAffected()
		return l.Count(l.t, "SELECT count(*) FROM orders WHERE channel IS NULL") == 0
	})
	if filled == 0 {
		l.t.Error("the version before has written no row that the back-fill had to fill")
	}
}
