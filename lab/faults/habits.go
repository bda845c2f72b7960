package faults

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// client sends operations, one after the other.
type client struct {
	*Load
	number int
	// random draws actions, and retries draws retry targets and pauses. So the number
	// of attempts does not change later actions.
	random, retries *rand.Rand
	keys            int // number of names made so far
}

// habits are ways to send a command until its outcome is known, with their weights.
// Most are bad ones.
var habits = []choice[func(*client, operation)]{
	{6, (*client).sendPatiently},
	{2, (*client).hangUp},
	{2, (*client).sendTogether},
	{2, (*client).repeatAfterSuccess},
	{2, (*client).sendOtherBodyLater},
	{1, (*client).sendOtherBodyTogether},
	{2, (*client).comeBackAfterExpiry},
	{2, (*client).lookUpMeanwhile},
	{2, (*client).repeatUnderNewKey},
	{1, (*client).shareKey},
}

// command draws a command and a habit.
func (c *client) command() { draw(c.random, habits)(c, draw(c.random, commands)(c)) }

// sendPatiently retries with the same key, as AUTH-19 asks.
func (c *client) sendPatiently(op operation) { c.notePromise(op, c.finish(op)) }

// hangUp disconnects at once and retries.
func (c *client) hangUp(op operation) {
	for range 1 + c.random.IntN(2) {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(c.random.IntN(30_000))*time.Microsecond)
		if c.send(ctx, c.anyReplica(), op).Error != "" {
			c.Counters.Add("hang-ups", 1)
		}
		cancel()
	}
	c.finish(op)
}

// sendTogether sends the same to all replicas at the same moment.
func (c *client) sendTogether(op operation) {
	c.together(op, op)
	c.finish(op)
}

// together sends each operation to a different replica at the same moment.
func (c *client) together(ops ...operation) { c.atOnce(c.Endpoints, ops...) }

// atOnce sends operations at the same moment, each to the next of some replicas.
func (c *client) atOnce(to []Endpoint, ops ...operation) {
	start := make(chan struct{})
	var sending sync.WaitGroup
	for i, op := range ops {
		sending.Go(func() {
			<-start
			c.send(c.t.Context(), to[i%len(to)], op)
		})
	}
	close(start)
	sending.Wait()
}

// repeatAfterSuccess resends an operation although its outcome is known.
func (c *client) repeatAfterSuccess(op operation) {
	c.finish(op)
	c.finish(op)
}

// withOtherBody returns the operation with another body under the same key.
func (op operation) withOtherBody() operation {
	if op.other != "" {
		op.call.Body, op.other = op.other, op.call.Body
		op.change, op.otherChange = op.otherChange, op.change
	}
	return op
}

// sendOtherBodyLater reuses a decided operation's key for another body.
func (c *client) sendOtherBodyLater(op operation) {
	c.finish(op)
	c.finish(op.withOtherBody())
}

// sendOtherBodyTogether sends two bodies under one key at the same moment.
func (c *client) sendOtherBodyTogether(op operation) {
	c.together(op, op.withOtherBody())
	c.finish(op)
	c.finish(op.withOtherBody())
}

// comeBackAfterExpiry sends a command, and resends it after its record is gone.
func (c *client) comeBackAfterExpiry(op operation) {
	c.finish(op)
	c.expireRecord(op)
	if c.random.IntN(4) == 0 {
		c.finish(op.withOtherBody())
	}
	c.finish(op)
}

// expireRecord makes a key's record expire, or deletes it as the clean-up would do. The
// history records this.
func (c *client) expireRecord(op operation) {
	statement := `UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1 AND key = $2`
	if c.random.IntN(2) == 0 {
		statement = `DELETE FROM idempotency_record WHERE scope = $1 AND key = $2`
	}
	a := history.Attempt{Client: c.number, Scope: op.subject, Key: op.call.Key, Operation: history.Expiry, Start: c.History.Now(), Outcome: history.OK}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, err := c.DB.Exec(ctx, statement, devissuer.Name+" "+op.subject, op.call.Key)
	a.End = c.History.Now()
	if err != nil {
		a.Outcome, a.Error = history.Unknown, err.Error()
	} else {
		c.Counters.Add("records expired", 1)
	}
	c.History.Add(a)
}

// lookUpMeanwhile looks the key up while the command may run, and afterwards.
func (c *client) lookUpMeanwhile(op operation) {
	to, at := c.anyReplica(), c.anyReplica()
	var sending sync.WaitGroup
	sending.Go(func() { c.send(c.t.Context(), to, op) })
	c.send(c.t.Context(), at, lookUp(op, op.subject, op.role))
	sending.Wait()
	c.finish(op)
	c.send(c.t.Context(), c.anyReplica(), lookUp(op, op.subject, op.role))
	c.send(c.t.Context(), c.anyReplica(), lookUp(op, "nosy", "customer"))
}

// lookUp is a read of a key's outcome.
func lookUp(op operation, subject, role string) operation {
	return operation{
		id: history.Lookup, subject: subject, role: role, lookedUp: op.call.Key,
		call: e2e.Call{Method: http.MethodGet, Path: "/idempotency-keys/" + url.PathEscape(op.call.Key)},
	}
}

// repeatUnderNewKey forgets the key and keeps the reference: there must be no second
// effect.
func (c *client) repeatUnderNewKey(op operation) {
	c.finish(op)
	if op.referenced {
		op.call.Key = c.newKey()
		if c.finish(op).Code == "reference_taken" {
			c.Counters.Add("references taken", 1)
		}
	}
}

// shareKey lets two principals send different commands with equal keys.
func (c *client) shareKey(op operation) {
	peer := c.changeBalanceOf(oneOf(c.random, savers), "credit", 1+c.random.Int64N(100))
	peer.subject = "bank-of-" + op.subject
	peer.call.Key = op.call.Key
	c.together(op, peer)
	c.finish(op)
	c.finish(peer)
}
