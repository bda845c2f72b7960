package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/panics"
	testwait "example.com/orders/internal/test/wait"
)

func TestGroup_PanicIsOfOneCommand(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
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

// A client that goes away while its command is in the queue has changed nothing.
func TestGroup_CommandThatIsGoneDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	var ran atomic.Int32
	abandoned := newCommand("creditBalance", func(context.Context, useCases, string) (string, error) {
		ran.Add(1)
		return "", nil
	})
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	gone := g.queue(t, ctx, abandoned)
	stays := g.queue(t, t.Context(), credit("ann", "1.00"))
	hangUp()
	first := receive(t, gone)
	expect(t, []answer{first}, unavailable)
	if !errors.Is(first.err, context.Canceled) {
		t.Errorf("the error is %v; want that of the context", first.err)
	}
	release()
	expect(t, []answer{receive(t, stays)}, done)
	if n := ran.Load(); n != 0 {
		t.Errorf("the command ran %d times", n)
	}
	d.expectCount(t, records, 1)
}

// A client may also go away after its group has begun, while an earlier command runs.
func TestGroup_CommandThatIsGoneInItsGroupDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
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
	var held <-chan struct{}
	var sendAnswer func()
	armed := make(chan struct{})
	leaves, last := credit("ann", "1.00"), credit("ann", "2.00").then(func() error {
		held, sendAnswer = p.holdNextAnswer()
		close(armed)
		return nil
	})
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	gone, stays := g.queue(t, ctx, leaves), g.queue(t, t.Context(), last)
	release()
	<-armed
	defer sendAnswer()
	<-held
	hangUp()
	expect(t, []answer{receive(t, gone)}, unknown)
	sendAnswer()
	expect(t, []answer{receive(t, stays)}, done)
	expect(t, []answer{g.execute(t.Context(), leaves)}, "replayed: done")
	d.expectCount(t, "SELECT amount::int FROM balance", 3)
}

// The others of a group wait for a slow command. Commands that come later do not: the lane
// is passed on.
func TestGroup_SlowCommandDelaysItsGroupAlone(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := credit("ann", "1.00").then(func() error {
		close(begun)
		<-goOn
		return nil
	})
	release := g.gather(t)
	defer release()
	with := []<-chan answer{
		g.queue(t, t.Context(), credit("bob", "1.00")), g.queue(t, t.Context(), slow), g.queue(t, t.Context(), credit("eve", "1.00")),
	}
	release()
	<-begun
	expect(t, []answer{g.execute(t.Context(), credit("joe", "1.00"))}, done)
	for i, from := range with {
		select {
		case a := <-from:
			t.Errorf("command %d was answered before the group ended: %s", i, a.outcome())
		default:
		}
	}
	close(goOn)
	expect(t, collect(t, with), done, done, done)
	d.expectCount(t, "SELECT sum(amount)::int FROM balance", 4)
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
	p.loseAnswersToCommit(1)
	answers := g.together(t, members...)
	expect(t, answers, unknown, unknown, defect)
	if n := p.lostAnswers(); n != 1 {
		t.Fatalf("%d answers were lost: this proves nothing", n)
	}
	fails.Store(false)
	for i, want := range []string{"replayed: done", "replayed: insufficient_funds", done} {
		expect(t, []answer{elsewhere.execute(t.Context(), members[i])}, want)
	}
	d.expectCount(t, "SELECT sum(amount)::int FROM balance", 2)
}

// A connection that breaks in the first round trip is replaced, in the second it has stored
// nothing, and in the third it may have.
func TestGroup_BrokenConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trips         int
		want, retried string
	}{
		"at the claim":   {0, done, "replayed: done"},
		"at the load":    {1, unavailable, done},
		"at the commit":  {2, unknown, "replayed: done"},
		"at no time yet": {3, done, "replayed: done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			g, elsewhere := grouped(t, url+"&pool_max_conns=1", 1), grouped(t, d.url, 1)
			for range 2 { // prepares the statements: balances are inserted, then updated
				expect(t, g.together(t, credit("ann", "1.00"), credit("bob", "1.00")), done, done)
			}
			members := []command{credit("ann", "1.00"), credit("bob", "1.00")}
			p.breakAfter(c.trips)
			expect(t, g.together(t, members...), c.want, c.want)
			for _, member := range members {
				expect(t, []answer{elsewhere.execute(t.Context(), member)}, c.retried)
			}
			d.expectCount(t, "SELECT sum(amount)::int FROM balance", 6)
		})
	}
}

// A connection that breaks before COMMIT is sent looks like one that breaks after.
func TestGroup_BrokenConnectionBeforeTheCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	last := credit("bob", "1.00").then(func() error { p.breakAll(); return nil })
	first := credit("ann", "1.00")
	expect(t, g.together(t, first, last), unknown, unknown)
	d.expectCount(t, records, 0)
	expect(t, []answer{elsewhere.execute(t.Context(), first)}, done)
}

func TestGroup_KeepsLargeResponses(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, elsewhere := grouped(t, d.url, 1), grouped(t, d.url, 1)
	members := make([]command, largestGroup)
	bodyOf := func(i int) []byte { return bytes.Repeat([]byte{byte('!' + i)}, 60<<10) }
	for i := range members {
		members[i] = newCommand("creditBalance", func(context.Context, useCases, string) (string, error) {
			return string(bodyOf(i)), nil
		})
	}
	g.together(t, members...)
	for i, member := range members {
		if a := elsewhere.execute(t.Context(), member); !a.replayed || !bytes.Equal(a.rec.Body, bodyOf(i)) {
			t.Errorf("command %d: replayed %t, a body of %d bytes, %v", i, a.replayed, len(a.rec.Body), a.err)
		}
	}
}

// A key that is stored or held elsewhere leaves the group, and an expired record makes
// room.
func TestGroup_KeysThatAreTaken(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, elsewhere := grouped(t, d.url, 1), grouped(t, d.url, 1)
	begun, goOn := make(chan struct{}), make(chan struct{})
	held := credit("joe", "1.00").then(func() error { close(begun); <-goOn; return nil })
	holding := make(chan answer, 1)
	go func() { holding <- elsewhere.execute(t.Context(), held) }()
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
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	release := g.gather(t)
	defer release()
	twice := credit("ann", "1.00")
	first := g.queue(t, t.Context(), twice)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Patience)
	defer cancel()
	expect(t, []answer{g.execute(ctx, twice)}, "in progress")
	if _, found, err := g.Keys().Lookup(t.Context(), twice.claim.ID); found || !errors.Is(err, idempotency.ErrInProgress) {
		t.Errorf("the look-up found %t, %v; want %v", found, err, idempotency.ErrInProgress)
	}
	release()
	expect(t, []answer{receive(t, first)}, done)
	expect(t, []answer{g.execute(t.Context(), twice)}, "replayed: done")
	d.expectCount(t, "SELECT amount::int FROM balance", 1)
}

// A row that nobody can read fails the command that wants it, and no other of its group.
func TestGroup_UnreadableRowFailsWhoWantsIt(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
	g.stock(t, "cup", 10)
	d.execute(t, "UPDATE product SET currency = 'ZZZ' WHERE sku = 'tea'")

	answers := g.together(t, buy("ann", "tea", 1), buy("bob", "cup", 1), credit("eve", "1.00"))

	if answers[0].err == nil {
		t.Error("an order of a product in an unknown currency succeeded")
	}
	expect(t, answers[1:], done, done)
}
