package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/observe/panics"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/kit/guard"
)

func TestGroup_PanicIsOfOneCommand(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	fails := true
	broken := credit("ann", "4.00").then(func() error {
		if fails {
			panic("a bug")
		}
		return nil
	})
	answers := g.together(t, credit("ann", "1.00"), broken, charge("ann", "2.00"), credit("ann", "2.00"))
	expect(t, answers, done, "panic", "insufficient_funds", done)
	if _, ok := errors.AsType[*panics.Error](answers[1].err); !ok {
		t.Errorf("the error is %v; want that of the panic", answers[1].err)
	}
	fails = false
	expect(t, []answer{g.execute(t.Context(), broken)}, done) // its key is free
	d.expectCount(t, "SELECT amount::int FROM balance", 7)
}

// A client may go away after its group has begun, while an earlier command runs.
func TestGroup_CommandThatIsGoneInItsGroupDoesNotRun(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := credit("ann", "1.00").then(func() error { close(begun); <-goOn; return nil })
	var ran atomic.Int32
	leaves := credit("bob", "1.00").then(func() error { ran.Add(1); return nil })
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	stays, gone := g.queue(t, t.Context(), slow), g.queue(t, ctx, leaves)
	release()
	<-begun
	hangUp()
	expect(t, []answer{receive(t, gone)}, unavailable)
	close(goOn)
	expect(t, []answer{receive(t, stays)}, done)
	if n := ran.Load(); n != 0 {
		t.Errorf("the command ran %d times", n)
	}
	d.expectCount(t, records, 1)
}

// A client that goes away while its group waits for COMMIT does not know the outcome. A
// retry finds it.
func TestGroup_OutcomeIsUnknownToWhoLeavesBeforeTheCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	g := grouped(t, url, 1)
	commit := p.hold(t)
	leaves, last := credit("ann", "1.00"), credit("ann", "2.00").then(commit.arm)
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	gone, stays := g.queue(t, ctx, leaves), g.queue(t, t.Context(), last)
	release()
	<-commit.begun
	hangUp()
	expect(t, []answer{receive(t, gone)}, unknown)
	commit.release()
	expect(t, []answer{receive(t, stays)}, done)
	expect(t, []answer{g.execute(t.Context(), leaves)}, "replayed: done")
	d.expectCount(t, "SELECT amount::int FROM balance", 3)
}

// Whoever wrote does not know the outcome when the answer to COMMIT is lost. A retry finds
// it.
func TestGroup_LostAnswerToCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	var fails atomic.Bool
	fails.Store(true)
	broken := credit("eve", "1.00").then(func() error {
		if fails.Load() {
			return errors.New("a bug")
		}
		return nil
	})
	members := []command{credit("ann", "1.00"), charge("bob", "1.00"), broken}
	p.loseAnswerToCommit()
	answers := g.together(t, members...)
	expect(t, answers, unknown, unknown, defect)
	if n := p.Cuts(); n != 1 {
		t.Fatalf("%d answers were lost: this proves nothing", n)
	}
	fails.Store(false)
	for i, want := range []string{"replayed: done", "replayed: insufficient_funds", done} {
		expect(t, []answer{elsewhere.execute(t.Context(), members[i])}, want)
	}
	d.expectCount(t, "SELECT sum(amount)::int FROM balance", 2)
}

// A key that is stored or held elsewhere leaves the group, and an expired record makes
// room.
func TestGroup_KeysThatAreTaken(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, elsewhere := grouped(t, d.url, 1), grouped(t, d.url, 1)
	begun, goOn := make(chan struct{}), make(chan struct{})
	held := credit("joe", "1.00").then(func() error { close(begun); <-goOn; return nil })
	holding := elsewhere.start(t.Context(), held)
	<-begun
	stored, expired := credit("ann", "1.00"), credit("bob", "1.00")
	elsewhere.alone(t, stored)
	d.storeExpired(t, expired.claim.ID)
	waits := held
	waits.run = credit("joe", "1.00").run

	expect(t, g.together(t, stored, waits, expired, credit("eve", "1.00")), "replayed: done", "in progress", done, done)
	g.expectNoSplit(t)
	expect(t, []answer{elsewhere.execute(t.Context(), expired)}, "replayed: done")
	close(goOn)
	expect(t, []answer{receive(t, holding)}, done)
	d.expectCount(t, "SELECT count(*) FROM idempotency_record WHERE body <> 'old'", 4)
	d.expectCount(t, "SELECT count(*) FROM ledger_entry", 4)
}

// Two requests with one key are one command, and a group has it once.
func TestGroup_HasAKeyOnce(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	release := g.gather(t)
	defer release()
	twice := credit("ann", "1.00")
	first := g.queue(t, t.Context(), twice)
	expect(t, []answer{receive(t, g.start(t.Context(), twice))}, "in progress")
	if _, found, err := g.Keys().Lookup(t.Context(), twice.claim.ID); found || !errors.Is(err, guard.ErrInProgress) {
		t.Errorf("the look-up found %t, %v; want %v", found, err, guard.ErrInProgress)
	}
	release()
	expect(t, []answer{receive(t, first)}, done)
	expect(t, []answer{g.execute(t.Context(), twice)}, "replayed: done")
	d.expectCount(t, "SELECT amount::int FROM balance", 1)
}

// A row that nobody can read fails the command that wants it, and no other of its group.
func TestGroup_UnreadableRowFailsWhoWantsIt(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	g.stock(t, "cup", 10)
	d.execute(t, "UPDATE product SET currency = 'ZZZ' WHERE sku = 'tea'")

	answers := g.together(t, buy("ann", "tea", 1), buy("bob", "cup", 1), credit("eve", "1.00"))

	if answers[0].err == nil {
		t.Error("an order of a product in an unknown currency succeeded")
	}
	expect(t, answers[1:], done, done)
}

// storeExpired stores a record of the command's key that has expired.
func (d *database) storeExpired(t *testing.T, id guard.ID) {
	t.Helper()
	d.execute(t, `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		VALUES ('`+string(id.Scope)+`', '`+id.Key+`', '1', 'creditBalance', 200, '', '', 'old', now() - interval '2 hours', now() - interval '1 hour')`)
}

// A replay says that a command has taken effect. Where COMMIT waits for a standby, the replay
// waits, too: a failover could lose what it reports.
func TestGroup_ReplaysWaitForTheStandby(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	url := pgtest.AsService(t, servers.PrimaryURL())
	elsewhere := grouped(t, url, 1)
	fails := func() command { return credit("bob", "1.00").then(func() error { return errors.New("a bug") }) }
	for _, c := range []struct {
		name string
		with command // in the group of the replay
		want string
	}{
		{"a group of replays", credit("ann", "1.00"), "replayed: done"},
		{"a replay beside a command that fails", fails(), defect},
		{"a replay beside a new command", credit("bob", "1.00"), done},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, stored := grouped(t, url, 1), credit("ann", "1.00")
			servers.SetSynchronous(t, false)
			g.together(t, elsewhere.stored(t, 16)...) // a storm, which the next lookup may not answer early
			servers.SetSynchronous(t, true)
			elsewhere.alone(t, stored)
			if c.want == "replayed: done" {
				elsewhere.alone(t, c.with)
			}
			resume := servers.PauseStandby(t)

			members := g.begin(t, stored, c.with)
			servers.AwaitCommit(t)
			if len(members[0]) > 0 {
				t.Error("the replay did not wait for the standby")
			}
			resume()

			expect(t, collect(t, members), "replayed: done", c.want)
		})
	}
}
