package postgres_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/idempotency"
	pgtest "example.com/orders/internal/test/pg"
)

// storeExpired stores a record of the command's key that has expired.
func (d *database) storeExpired(t *testing.T, id idempotency.ID) {
	t.Helper()
	d.execute(t, `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		VALUES ('`+string(id.Scope)+`', '`+id.Key+`', '1', 'creditBalance', 200, '', '', 'old', now() - interval '2 hours', now() - interval '1 hour')`)
}

// The look-up that a storm of retries begins with does not replay what has expired.
func TestGroup_ReplaysNoExpiredRecordInAStorm(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, elsewhere := grouped(t, d.url, 1), grouped(t, d.url, 1)
	stored, expired := credit("ann", "1.00"), credit("bob", "1.00")
	elsewhere.alone(t, stored)
	d.storeExpired(t, expired.claim.ID)
	g.Keys().ExpectReplays()

	answers := g.together(t, expired, stored)

	expect(t, answers, done, "replayed: done")
	d.expectCount(t, "SELECT sum(amount)::int FROM balance", 2)
}

// A replay says that a command has taken effect. Where COMMIT waits for a standby, the replay
// waits, too: a failover could lose what it reports.
func TestGroup_ReplaysWaitForTheStandby(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	servers.SetSynchronous(t, true)
	url := pgtest.AsService(t, servers.PrimaryURL())
	elsewhere := grouped(t, url, 1)
	fails := func() command { return credit("bob", "1.00").then(func() error { return errors.New("a bug") }) }
	for _, c := range []struct {
		name  string
		with  command // in the group of the replay
		want  string
		storm bool
	}{
		{"a group of replays", credit("ann", "1.00"), "replayed: done", false},
		{"a replay beside a command that fails", fails(), defect, false},
		{"a replay beside a new command", credit("bob", "1.00"), done, false},
		{"a storm of retries", credit("ann", "1.00"), "replayed: done", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, stored := grouped(t, url, 1), credit("ann", "1.00")
			elsewhere.alone(t, stored)
			if c.want == "replayed: done" {
				elsewhere.alone(t, c.with)
			}
			if c.storm {
				g.Keys().ExpectReplays()
			}
			servers.StopStandby()
			release := g.gather(t)
			defer release()
			replayed, other := g.queue(t, t.Context(), stored), g.queue(t, t.Context(), c.with)
			var back, early atomic.Bool
			answered := make(chan answer, 1)
			go func() {
				a := <-replayed
				early.Store(!back.Load())
				answered <- a
			}()

			release()
			servers.AwaitCommit(t)
			back.Store(true)
			servers.StartStandby(t)

			expect(t, collect(t, []<-chan answer{answered, other}), "replayed: done", c.want)
			if early.Load() {
				t.Error("the replay did not wait for the standby")
			}
		})
	}
}
