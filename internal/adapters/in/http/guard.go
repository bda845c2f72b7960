package httpapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/idempotency"
)

// The guard is AUTH-19: a correctly authenticated request that carries an
// Idempotency-Key takes effect exactly once, whatever the client, the network, a
// replica or the database does.
//
// It stands between the client and the use case, and this is all it does:
//
//  1. Fingerprint. What is asked for is hashed (method, path, query, canonical body),
//     so that a key cannot be used for two things.
//  2. Claim. One transaction tries to lock the key and looks it up. A key belongs to
//     its principal: another one's equal key is another key.
//  3. Run. Nobody has it: the use case joins that transaction, and its effect and its
//     answer commit together or not at all. A crash at any moment leaves nothing.
//  4. Replay. There is a record: the stored bytes are the answer, and nothing runs. A
//     record of another request is never shown.
//  5. Wait. Another request holds it: wait a little, without a connection, and look
//     again.
//
// The use case knows nothing of this. It gets the key as the name of the business
// operation, to store beside the effect under a unique index: the second line, which
// answers when the record has expired.
type guard struct {
	keys idempotency.Store
	GuardConfig
}

// GuardConfig says how long the guard waits and remembers.
type GuardConfig struct {
	// Wait is how long a duplicate waits for the first request.
	Wait time.Duration
	// TTL is how long an answer is kept, and RefusalTTL how long a refusal is.
	TTL        time.Duration
	RefusalTTL time.Duration
}

// How often a duplicate looks whether the first request has ended.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// serve answers a guarded request.
func (g guard) serve(rt route, req *request, canonical []byte) (*answer, error) {
	ask := idempotency.Request{
		ID:          idempotency.ID{Principal: req.principal, Key: req.key},
		Fingerprint: fingerprint(req.http, canonical),
		Command:     rt.operation,
	}
	entry := entryOf(req.http.Context())
	entry.key = ask.Key
	repeated := false
	rec, replayed, err := g.once(req.http.Context(), ask, func(ctx context.Context) (idempotency.Result, error) {
		result, err := g.run(ctx, rt, req)
		repeated = result.Repeated
		return result, err
	})
	if err != nil {
		return nil, err
	}
	if rec.Fingerprint != ask.Fingerprint {
		return nil, newProblem(wire.ProblemCodeIdempotencyKeyReused, "this Idempotency-Key was used for another request")
	}
	entry.outcome = outcome(replayed || repeated)
	return reply(rec, replayed, replayed || repeated), nil
}

// once claims the key and runs the command, or gives what is stored. While another
// request holds the key it waits, up to the configured time and as long as the client
// is there, and holds nothing meanwhile.
func (g guard) once(
	ctx context.Context, ask idempotency.Request, run func(context.Context) (idempotency.Result, error),
) (idempotency.Record, bool, error) {
	giveUp := time.Now().Add(g.Wait)
	for look := firstLook; ; look = min(2*look, lastLook) {
		rec, replayed, err := g.attempt(ctx, ask, run)
		if !errors.Is(err, idempotency.ErrInProgress) {
			return rec, replayed, err
		}
		if !sleep(ctx, min(look/2+rand.N(look), time.Until(giveUp))) {
			return rec, false, newProblem(wire.ProblemCodeIdempotencyInProgress, "the first request with this Idempotency-Key still runs")
		}
	}
}

// sleep tells whether there was time to sleep, and whether the client is still there.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt goes to the store on a context that the client cannot cancel: a command
// that was accepted is finished, and the retry finds its answer.
func (g guard) attempt(
	ctx context.Context, ask idempotency.Request, run func(context.Context) (idempotency.Result, error),
) (idempotency.Record, bool, error) {
	ctx, cancel := detach(ctx)
	defer cancel()
	return g.keys.Once(ctx, ask, run)
}

// run calls the use case and decides what is kept. An answer and a refusal by the use
// case are kept; a failure, and what depends on who asks (403) or on time (404), is
// not, and leaves the key free.
func (g guard) run(ctx context.Context, rt route, req *request) (idempotency.Result, error) {
	resp, err := rt.handle(ctx, req)
	if err == nil {
		stored, err := resp.encode()
		return idempotency.Result{Response: stored, Repeated: resp.repeated, TTL: g.TTL}, err
	}
	p := problemOf(err)
	if !p.kept() {
		return idempotency.Result{}, err
	}
	entry := entryOf(req.http.Context())
	entry.code = string(p.code)
	status, body := p.render(entry.requestID, req.http.URL.Path)
	return idempotency.Result{
		Response: idempotency.Response{Status: status, ContentType: problemMedia, Body: body},
		Refused:  true, TTL: g.RefusalTTL,
	}, nil
}

// kept tells whether a refusal is stored: those of the use case that a retry of the
// same request would only meet again. What was refused before the use case ran leaves its
// key free. And when the second line says that the key belongs to another request, keeping
// that would take the key away from the other one.
func (p *problem) kept() bool {
	if p.early || p.code == wire.ProblemCodeIdempotencyKeyReused {
		return false
	}
	switch problemKinds[p.code].status {
	case http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// reply makes the answer of a record.
func reply(rec idempotency.Record, replayed, reused bool) *answer {
	h := http.Header{}
	h.Set("Idempotency-Result", outcome(reused))
	h.Set("Idempotency-Expires", rec.ExpiresAt.Format(time.RFC3339))
	if replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	return &answer{Response: rec.Response, header: h}
}

func outcome(reused bool) string {
	if reused {
		return "reused"
	}
	return "created"
}
