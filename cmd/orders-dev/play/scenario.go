package play

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Entry is one line in the time line.
type Entry struct {
	// Kind is note, fault, attempt (sent when it begins and when it has ended),
	// verdict, state (shown next to the time line) or error (the playground itself
	// failed).
	Kind    string   `json:"kind"`
	Text    string   `json:"text,omitempty"`
	Right   bool     `json:"right,omitempty"`   // verdict: the balance moved once
	Payment int      `json:"payment,omitempty"` // verdict
	Attempt *Attempt `json:"attempt,omitempty"`
	State   *State   `json:"state,omitempty"`
}

// overlap is how long a race holds the balance, so that the two requests overlap.
const overlap = 300 * time.Millisecond

// scenarios are the actions behind the page buttons.
var scenarios = map[string]func(*play, context.Context) error{
	"lose":    (*play).loseResponse,
	"change":  (*play).changeBody,
	"race":    (*play).race,
	"kill":    (*play).kill,
	"expire":  (*play).expire,
	"refund":  (*play).refundInDashboard,
	"webhook": (*play).loseWebhook,
	"new":     (*play).newPayment,
}

// anytime are those that wait for no other one.
var anytime = map[string]func(*play, context.Context) error{
	"open": func(*play, context.Context) error { return nil },
	"pay":  (*play).pay,
}

// play is one running scenario.
type play struct {
	*stage
	account *account
	op      *operation
	report  func(Entry)
}

func (p *play) note(format string, args ...any) {
	p.report(Entry{Kind: "note", Text: fmt.Sprintf(format, args...)})
}

func (p *play) fault(format string, args ...any) {
	p.report(Entry{Kind: "fault", Text: fmt.Sprintf(format, args...)})
}

// pay sends the payment, alternating between replicas.
func (p *play) pay(ctx context.Context) error {
	a := p.begin(-1, price)
	if err := p.run(ctx, a, false); err != nil {
		return err
	}
	return p.judge(ctx)
}

// loseResponse loses the response to a payment and retries.
func (p *play) loseResponse(ctx context.Context) error {
	if err := p.fund(ctx, p.account); err != nil {
		return err
	}
	p.renewUsed()
	p.fault("The network before replica A will lose the next response.")
	a := p.begin(0, price)
	if err := p.run(ctx, a, true); err != nil {
		return err
	}
	if a.Lost == nil {
		return fmt.Errorf("the response was not lost: status %d", a.Status)
	}
	p.note("The client cannot know whether it has paid. It retries with the same key, at the other replica.")
	return p.retry(ctx, price)
}

// retry sends the payment to replica B, and judges.
func (p *play) retry(ctx context.Context, amount string) error {
	if err := p.run(ctx, p.begin(1, amount), false); err != nil {
		return err
	}
	return p.judge(ctx)
}

// changeBody sends a different request under a used key.
func (p *play) changeBody(ctx context.Context) error {
	if moved, err := p.db.moved(ctx, p.op); err != nil {
		return err
	} else if moved.Times == 0 {
		if err := p.run(ctx, p.begin(0, price), false); err != nil {
			return err
		}
	}
	p.fault("The client sends another body with the same key: %s instead of %s.", otherPrice, price)
	return p.retry(ctx, otherPrice)
}

// race sends the payment to both replicas at once. A short lock on the balance makes
// the second request arrive during the first transaction.
func (p *play) race(ctx context.Context) error {
	lock, err := p.lockNew(ctx)
	if err != nil {
		return err
	}
	defer lock.release()
	p.fault("The same request leaves twice at the same moment, to both replicas. The playground locks the balance for %d ms, so that they overlap.",
		overlap.Milliseconds())
	var both errgroup.Group
	for i := range p.replicas {
		a := p.begin(i, price)
		both.Go(func() error { return p.run(ctx, a, false) })
	}
	if err := lock.awaitWaiter(ctx); err != nil {
		return err
	}
	time.Sleep(overlap)
	lock.release()
	if err := both.Wait(); err != nil {
		return err
	}
	return p.judge(ctx)
}

// lockNew locks the balance and then makes sure that the payment is new, so that each of
// these attempts has to wait.
func (p *play) lockNew(ctx context.Context) (*rowLock, error) {
	if err := p.fund(ctx, p.account); err != nil {
		return nil, err
	}
	lock, err := p.db.lockBalance(ctx, p.account.customer)
	if err == nil {
		p.renewUsed()
	}
	return lock, err
}

// kill kills a replica in the middle of a payment, and retries at the other one.
func (p *play) kill(ctx context.Context) error {
	if err := p.killDuring(ctx, p.replicas[0]); err != nil {
		return err
	}
	p.note("Nothing of that transaction is left. The client retries with the same key, at replica B.")
	if err := p.run(ctx, p.begin(1, price), false); err != nil {
		return err
	}
	if err := p.startReplicas(ctx, func(r *replica) { p.note("Replica %s is started again: process %d.", r.name, r.pid()) }); err != nil {
		return err
	}
	return p.judge(ctx)
}

// killDuring kills a replica while the payment transaction is open.
func (p *play) killDuring(ctx context.Context, victim *replica) error {
	lock, err := p.lockNew(ctx)
	if err != nil {
		return err
	}
	defer lock.release()
	p.fault("The playground locks the row of the balance, so that the payment stops in the middle of its transaction.")
	a := p.begin(0, price)
	var sent errgroup.Group
	sent.Go(func() error { return p.send(ctx, a, false) })
	if err := lock.awaitWaiter(ctx); err != nil {
		return err
	}
	if err := victim.kill(); err != nil {
		return err
	}
	p.fault("SIGKILL: process %d of replica %s is gone. It had not committed.", a.PID, victim.name)
	lock.release()
	if err := sent.Wait(); err != nil {
		return err
	}
	a.Effect = rolledBack // it could not commit while the row was locked
	p.end(a)
	return nil
}

// expire expires a payment record and retries. The payment goes to replica A and the
// retry to B, because a replica caches the records it has seen.
func (p *play) expire(ctx context.Context) error {
	if err := p.newPayment(ctx); err != nil {
		return err
	}
	if err := p.run(ctx, p.begin(0, price), false); err != nil {
		return err
	}
	if err := p.db.expire(ctx, p.op.key); err != nil {
		return err
	}
	if p.account.guarded {
		p.fault("The playground sets expires_at of the stored response to a second ago, in the database. To the service, the response is gone.")
	}
	p.note("The client retries very late, at replica B, which has never seen the key.")
	return p.retry(ctx, price)
}

// newPayment starts over with a new payment and key.
func (p *play) newPayment(ctx context.Context) error {
	if err := p.fund(ctx, p.account); err != nil {
		return err
	}
	p.op = p.renew(p.account)
	p.noteNew()
	return nil
}

// renewUsed starts over unless the payment has no attempt yet.
func (p *play) renewUsed() {
	p.mu.Lock()
	used := p.op.attempts > 0
	p.mu.Unlock()
	if used {
		p.op = p.renew(p.account)
		p.noteNew()
	}
}

func (p *play) noteNew() {
	p.note("New payment %d of %s RUB. A new operation needs a new key: %s.", p.op.number, price, p.op.key)
}

// begin starts an attempt at a replica, or at -1 at the next one.
func (p *play) begin(i int, amount string) *Attempt {
	p.mu.Lock()
	if i < 0 {
		i = p.op.attempts % len(p.replicas)
	}
	p.op.attempts++
	p.op.open++
	number := p.op.attempts
	p.mu.Unlock()
	r := p.replicas[i]
	a := &Attempt{
		Number: number, Payment: p.op.number, Guarded: p.account.guarded,
		Replica: r.name, PID: r.pid(), Method: http.MethodPost, Path: p.op.path(), Key: p.op.key,
		Body:    fmt.Sprintf(`{"amount": {"amount": %q, "currency": "RUB"}, "description": %q}`, amount, p.op.description()),
		Pending: true, Began: time.Since(p.opened).Milliseconds(),
	}
	begun := *a
	p.report(Entry{Kind: "attempt", Attempt: &begun})
	return a
}

// send sends an attempt through the network, which may lose the response.
func (p *play) send(ctx context.Context, a *Attempt, lose bool) error {
	i := slices.IndexFunc(p.replicas[:], func(r *replica) bool { return r.name == a.Replica })
	way, err := openNetwork(ctx, p.replicas[i].address(), lose)
	if err != nil {
		return err
	}
	defer way.close()
	p.client.send(ctx, a, way.url, p.token)
	if a.Lost = way.lost.Load(); a.Lost != nil {
		a.Effect = effectOf(a.Lost.Status, a.Lost.Result, false)
	}
	return nil
}

// end reports the end of an attempt.
func (p *play) end(a *Attempt) {
	p.report(Entry{Kind: "attempt", Attempt: a})
	p.mu.Lock()
	p.op.open--
	p.mu.Unlock()
}

// run sends an attempt and reports the end.
func (p *play) run(ctx context.Context, a *Attempt, lose bool) error {
	err := p.send(ctx, a, lose)
	p.end(a)
	return err
}

// judge reports how often the balance moved. While a second attempt is under way, that
// one reports it.
func (p *play) judge(ctx context.Context) error {
	p.mu.Lock()
	attempts, open := p.op.attempts, p.op.open
	p.mu.Unlock()
	if open > 0 {
		return nil
	}
	moved, err := p.db.moved(ctx, p.op)
	if err != nil || moved.Times == 0 { // such as Pay during Kill
		return err
	}
	text, right := moved.verdict(p.op, attempts)
	p.report(Entry{Kind: "verdict", Payment: p.op.number, Text: text, Right: right})
	return nil
}
