package play

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Entry is one line in the time line.
type Entry struct {
	// Kind is note, fault, attempt (sent when it begins and when it has ended),
	// verdict, state (shown beside the time line) or error (the playground itself
	// failed).
	Kind    string   `json:"kind"`
	Text    string   `json:"text,omitempty"`
	Right   bool     `json:"right,omitempty"` // verdict: the balance moved once
	Attempt *Attempt `json:"attempt,omitempty"`
	State   *State   `json:"state,omitempty"`
}

// The request bodies for a payment.
const (
	byBalance = `{"method": "balance"}`
	byCard    = `{"method": "card", "payment_method": "pm_card_visa"}`
)

// overlap is how long a race holds the balance, so that its two requests overlap.
const overlap = 300 * time.Millisecond

// scenarios are the actions behind the page's buttons.
var scenarios = map[string]func(*play, context.Context) error{
	"pay":    (*play).pay,
	"lose":   (*play).loseResponse,
	"change": (*play).changeBody,
	"race":   (*play).race,
	"kill":   (*play).kill,
	"expire": (*play).expire,
	"order":  (*play).order,
}

// play is one running scenario.
type play struct {
	*stage
	report func(Entry)
}

func (p *play) note(format string, args ...any) {
	p.report(Entry{Kind: "note", Text: fmt.Sprintf(format, args...)})
}

func (p *play) fault(format string, args ...any) {
	p.report(Entry{Kind: "fault", Text: fmt.Sprintf(format, args...)})
}

// pay sends the payment, alternating between replicas.
func (p *play) pay(ctx context.Context) error {
	i := p.next
	p.next = 1 - p.next
	p.send(ctx, i, byBalance)
	return p.judge(ctx)
}

// loseResponse loses a payment's response and retries.
func (p *play) loseResponse(ctx context.Context) error {
	if err := p.freshOrder(ctx); err != nil {
		return err
	}
	p.fault("The network before replica A will lose the next response.")
	p.networks[0].loseNext()
	if a := p.send(ctx, 0, byBalance); a.Lost == nil {
		return fmt.Errorf("the response was not lost: status %d", a.Status)
	}
	p.note("The client cannot know whether it has paid. It retries with the same key, at the other replica.")
	p.send(ctx, 1, byBalance)
	return p.judge(ctx)
}

// changeBody sends a different request under a used key.
func (p *play) changeBody(ctx context.Context) error {
	if err := p.paidOrder(ctx); err != nil {
		return err
	}
	p.fault("The client sends another body with the same key: a card instead of the balance.")
	p.send(ctx, 1, byCard)
	return p.judge(ctx)
}

// race sends the payment to both replicas at once. A short lock on the balance makes
// the second request arrive during the first transaction.
func (p *play) race(ctx context.Context) error {
	if err := p.freshOrder(ctx); err != nil {
		return err
	}
	lock, err := p.db.lockBalance(ctx, customer)
	if err != nil {
		return err
	}
	defer lock.release()
	p.fault("The same request leaves twice at the same moment, to both replicas. The playground locks the balance for %d ms, so that they overlap.",
		overlap.Milliseconds())
	var both sync.WaitGroup
	for i := range p.replicas {
		a := p.attempt(i, byBalance)
		both.Go(func() { p.run(ctx, i, a) })
	}
	if err := lock.awaitWaiter(ctx); err != nil {
		return err
	}
	time.Sleep(overlap)
	lock.release()
	both.Wait()
	return p.judge(ctx)
}

// kill kills a replica in the middle of a payment, and retries at the other one.
func (p *play) kill(ctx context.Context) error {
	if err := p.freshOrder(ctx); err != nil {
		return err
	}
	if err := p.killDuring(ctx, p.replicas[0]); err != nil {
		return err
	}
	p.note("The key is free again, because its claim was part of that transaction. The client retries with the same key, at replica B.")
	p.send(ctx, 1, byBalance)
	if err := p.startReplicas(ctx, func(r *replica) { p.note("Replica %s is started again: process %d.", r.name, r.pid()) }); err != nil {
		return err
	}
	return p.judge(ctx)
}

// killDuring kills a replica while its payment transaction is open.
func (p *play) killDuring(ctx context.Context, victim *replica) error {
	lock, err := p.db.lockBalance(ctx, customer)
	if err != nil {
		return err
	}
	defer lock.release()
	p.fault("The playground locks the row of the balance, so that the payment stops in the middle of its transaction.")
	a := p.attempt(0, byBalance)
	ended := make(chan struct{})
	pid := victim.pid()
	go func() {
		p.client.send(ctx, a, p.networks[0].url, p.customerToken)
		close(ended)
	}()
	if err := lock.awaitWaiter(ctx); err != nil {
		return err
	}
	if err := victim.kill(); err != nil {
		return err
	}
	p.fault("SIGKILL: process %d of replica %s is gone. It had claimed the key, and had not committed.", pid, victim.name)
	lock.release()
	<-ended
	if payments, _, err := p.db.payments(ctx, p.stage.order); err != nil {
		return err
	} else if payments == 0 {
		a.Effect = rolledBack
	}
	p.report(Entry{Kind: "attempt", Attempt: a})
	return nil
}

// expire expires a payment's record and retries. The payment goes to replica A and the
// retry to B, because a replica caches the records it has seen.
func (p *play) expire(ctx context.Context) error {
	if err := p.order(ctx); err != nil {
		return err
	}
	p.send(ctx, 0, byBalance)
	if err := p.db.expire(ctx, p.key); err != nil {
		return err
	}
	p.fault("Nobody waits 72 hours here: the playground sets expires_at of the stored response to a second ago, in the database. To the service, the response is gone.")
	p.note("The client retries very late, at replica B, which has never seen the key.")
	p.send(ctx, 1, byBalance)
	return p.judge(ctx)
}

// order starts over with another order and key.
func (p *play) order(ctx context.Context) error {
	if err := p.newOrder(ctx); err != nil {
		return err
	}
	p.note("New order %d, %s RUB. A new operation needs a new key: %s.", p.stage.order, price, p.key)
	return nil
}

// freshOrder starts over unless the order has no attempt yet.
func (p *play) freshOrder(ctx context.Context) error {
	if p.attempts == 0 {
		return nil
	}
	return p.order(ctx)
}

// paidOrder pays the order unless it is paid.
func (p *play) paidOrder(ctx context.Context) error {
	payments, _, err := p.db.payments(ctx, p.stage.order)
	if err != nil || payments > 0 {
		return err
	}
	p.send(ctx, 0, byBalance)
	return nil
}

// attempt starts an attempt to pay the order at a replica.
func (p *play) attempt(i int, body string) *Attempt {
	p.attempts++
	a := &Attempt{
		Number: p.attempts, Order: p.stage.order, Replica: p.replicas[i].name, PID: p.replicas[i].pid(),
		Method: http.MethodPost, Path: "/orders/" + strconv.FormatInt(p.stage.order, 10) + "/payment/confirm",
		Key: p.key, Body: body, Pending: true,
	}
	begun := *a
	p.report(Entry{Kind: "attempt", Attempt: &begun})
	return a
}

// run sends an attempt and reports its end.
func (p *play) run(ctx context.Context, i int, a *Attempt) {
	p.client.send(ctx, a, p.networks[i].url, p.customerToken)
	if a.Lost = p.networks[i].takeLost(); a.Lost != nil {
		a.Effect = effectOf(a.Lost.Status, a.Lost.Result, false)
	}
	p.report(Entry{Kind: "attempt", Attempt: a})
}

// send sends the order's payment to a replica.
func (p *play) send(ctx context.Context, i int, body string) *Attempt {
	a := p.attempt(i, body)
	p.run(ctx, i, a)
	return a
}

// judge reports whether the balance moved once.
func (p *play) judge(ctx context.Context) error {
	text, right, err := p.verdict(ctx)
	if err != nil {
		return err
	}
	p.report(Entry{Kind: "verdict", Text: text, Right: right})
	return nil
}
