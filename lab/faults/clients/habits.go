package clients

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// Client sends operations, one after the other.
type Client struct {
	*Load
	number int
	// Random draws actions, and retries draws retry targets and pauses. So the number
	// of attempts does not change later actions.
	Random, retries *rand.Rand
	keys            int // number of names made so far
}

// habits are ways to send a command until its outcome is known, with their weights.
// Most are bad ones.
var habits = []choice[func(*Client, Operation)]{
	{6, (*Client).SendPatiently},
	{2, (*Client).hangUp},
	{2, (*Client).sendTogether},
	{2, (*Client).repeatAfterSuccess},
	{2, (*Client).sendOtherBodyLater},
	{1, (*Client).sendOtherBodyTogether},
	{2, (*Client).comeBackAfterExpiry},
	{2, (*Client).lookUpMeanwhile},
	{2, (*Client).repeatUnderNewKey},
	{1, (*Client).shareKey},
}

// command draws a command and a habit.
func (c *Client) command() { draw(c.Random, habits)(c, draw(c.Random, commands)(c)) }

// SendPatiently retries with the same key, as AUTH-19 asks.
func (c *Client) SendPatiently(op Operation) { c.notePromise(op, c.Finish(op)) }

// hangUp disconnects at once and retries.
func (c *Client) hangUp(op Operation) {
	for range 1 + c.Random.IntN(2) {
		ctx, cancel := context.WithTimeout(c.T.Context(), time.Duration(c.Random.IntN(30_000))*time.Microsecond)
		if c.Send(ctx, c.anyReplica(), op).Error != "" {
			c.Counters.Add("hang-ups", 1)
		}
		cancel()
	}
	c.Finish(op)
}

// sendTogether sends the same to all replicas at the same moment.
func (c *Client) sendTogether(op Operation) {
	c.together(op, op)
	c.Finish(op)
}

// together sends each operation to a different replica at the same moment.
func (c *Client) together(ops ...Operation) { c.atOnce(c.Endpoints, ops...) }

// atOnce sends operations at the same moment, each to the next of some replicas.
func (c *Client) atOnce(to []world.Endpoint, ops ...Operation) {
	start := make(chan struct{})
	var sending sync.WaitGroup
	for i, op := range ops {
		sending.Go(func() {
			<-start
			c.Send(c.T.Context(), to[i%len(to)], op)
		})
	}
	close(start)
	sending.Wait()
}

// repeatAfterSuccess resends an operation although its outcome is known.
func (c *Client) repeatAfterSuccess(op Operation) {
	c.Finish(op)
	c.Finish(op)
}

// withOtherBody returns the operation with another body under the same key.
func (op Operation) withOtherBody() Operation {
	if op.other != "" {
		op.call.Body, op.other = op.other, op.call.Body
		op.change, op.otherChange = op.otherChange, op.change
	}
	return op
}

// sendOtherBodyLater reuses a decided operation's key for another body.
func (c *Client) sendOtherBodyLater(op Operation) {
	c.Finish(op)
	c.Finish(op.withOtherBody())
}

// sendOtherBodyTogether sends two bodies under one key at the same moment.
func (c *Client) sendOtherBodyTogether(op Operation) {
	c.together(op, op.withOtherBody())
	c.Finish(op)
	c.Finish(op.withOtherBody())
}

// comeBackAfterExpiry sends a command, and resends it after its record is gone.
func (c *Client) comeBackAfterExpiry(op Operation) {
	c.Finish(op)
	c.expireRecord(op)
	if c.Random.IntN(4) == 0 {
		c.Finish(op.withOtherBody())
	}
	c.Finish(op)
}

// expireRecord makes a key's record expire, or deletes it as the clean-up would do. The
// history records this.
func (c *Client) expireRecord(op Operation) {
	statement := `UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1 AND key = $2`
	if c.Random.IntN(2) == 0 {
		statement = `DELETE FROM idempotency_record WHERE scope = $1 AND key = $2`
	}
	a := history.Attempt{Client: c.number, Scope: op.Subject, Key: op.call.Key, Operation: history.Expiry, Start: c.History.Now(), Outcome: history.OK}
	ctx, cancel := context.WithTimeout(c.T.Context(), world.Patience)
	defer cancel()
	_, err := c.DB.Exec(ctx, statement, devissuer.Name+" "+op.Subject, op.call.Key)
	a.End = c.History.Now()
	if err != nil {
		a.Outcome, a.Error = history.Unknown, err.Error()
	} else {
		c.Counters.Add("records expired", 1)
	}
	c.History.Add(a)
}

// lookUpMeanwhile looks the key up while the command may run, and afterwards.
func (c *Client) lookUpMeanwhile(op Operation) {
	to, at := c.anyReplica(), c.anyReplica()
	var sending sync.WaitGroup
	sending.Go(func() { c.Send(c.T.Context(), to, op) })
	c.Send(c.T.Context(), at, LookUp(op.call.Key, op.Subject, op.role))
	sending.Wait()
	c.Finish(op)
	c.Send(c.T.Context(), c.anyReplica(), LookUp(op.call.Key, op.Subject, op.role))
	c.Send(c.T.Context(), c.anyReplica(), LookUp(op.call.Key, "nosy", "customer"))
}

// LookUp is a read of a key's outcome.
func LookUp(key, subject, role string) Operation {
	return Operation{
		ID: history.Lookup, Subject: subject, role: role, lookedUp: key,
		call: e2e.Call{Method: http.MethodGet, Path: "/idempotency-keys/" + url.PathEscape(key)},
	}
}

// repeatUnderNewKey forgets the key and keeps the reference: there must be no second
// effect.
func (c *Client) repeatUnderNewKey(op Operation) {
	c.Finish(op)
	if op.referenced {
		op.call.Key = c.newKey()
		if c.Finish(op).Code == "reference_taken" {
			c.Counters.Add("references taken", 1)
		}
	}
}

// shareKey lets two principals send different commands with equal keys.
func (c *Client) shareKey(op Operation) {
	peer := c.ChangeBalanceOf(OneOf(c.Random, Savers), "credit", 1+c.Random.Int64N(100))
	peer.Subject = "bank-of-" + op.Subject
	peer.call.Key = op.call.Key
	c.together(op, peer)
	c.Finish(op)
	c.Finish(peer)
}
