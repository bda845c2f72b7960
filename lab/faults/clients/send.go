package clients

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// Operation is a request that a client sends until its outcome is known.
type Operation struct {
	// ID is the contract's operation id, such as creditBalance.
	ID            string
	Subject, role string
	// call has no token. Each attempt gets a new one.
	call e2e.Call
	// other is a different body.
	other string
	// referenced reports that the body has a reference.
	referenced bool
	// customer owns the order that the command is about, and stranger reports that somebody
	// else sends it.
	customer string
	stranger bool
	// lookedUp is the key in a lookup.
	lookedUp string
	// account is the balance that the command changes by change, or by otherChange with
	// the other body.
	account             string
	change, otherChange int64
	// learn remembers data from a success, such as an order's id.
	learn func(e2e.Reply)
}

// refusals are allowed failures by operation, as far as this workload goes. Every other
// verdict fails the run, including any 500.
var refusals = map[string][]string{
	"createOrder":        {"409 out_of_stock", "409 reference_taken", "422 unknown_sku"},
	"reserveInventory":   {"409 invalid_order_state", "409 reservation_limit", "409 out_of_stock"},
	"confirmPayment":     {"402 insufficient_funds", "409 invalid_order_state", "409 reservation_expired", "422 validation_failed"},
	"refundPayment":      {"409 invalid_order_state", "409 refund_exceeds_payment"},
	"cancelOrder":        {"409 invalid_order_state"},
	"creditBalance":      {"409 reference_taken"},
	"chargeBalance":      {"402 insufficient_funds", "409 reference_taken"},
	"adjustStock":        {"409 stock_reserved"},
	"updateOrderStatus":  {"409 invalid_order_state"},
	"putProduct":         {"412 precondition_failed", "409 stock_reserved"},
	history.Lookup:       {"404 not_found"},
	"getCustomerProfile": {"404 not_found"},
}

// undecided are the verdicts after which a client retries.
var undecided = []string{
	"503 unavailable", "503 outcome_unknown", "409 idempotency_in_progress", "401 unauthenticated", "429 rate_limited",
}

// alwaysAllowed are verdicts allowed for any operation.
var alwaysAllowed = []string{"503 unavailable", "503 outcome_unknown", "409 idempotency_in_progress", "409 idempotency_key_reused",
	"409 idempotency_key_spent", // the checker knows which keys can be spent
}

// Finish sends an operation, to any replica, until its outcome is known. It returns the
// last attempt.
func (c *Client) Finish(op Operation) history.Attempt {
	begun := c.History.Now()
	for deadline := time.Now().Add(2 * e2e.Patience); time.Now().Before(deadline) && !c.T.Failed(); {
		if a := c.Send(c.T.Context(), c.anyReplica(), op); isDecided(a) {
			c.noteFinished(Span{begun, a.End})
			return a
		}
		c.wait()
	}
	if !c.T.Failed() {
		c.T.Errorf("%s %s: the outcome is not known in time", op.ID, op.call.Key)
	}
	return history.Attempt{}
}

// wait pauses between two attempts.
func (c *Client) wait() {
	time.Sleep(c.RetryPause + time.Duration(c.retries.Int64N(3*int64(c.RetryPause))))
}

// anyReplica returns an endpoint for a request that any replica can answer.
func (c *Client) anyReplica() world.Endpoint {
	if c.Balancer != nil {
		return *c.Balancer
	}
	return OneOf(c.retries, c.Endpoints)
}

// isDecided reports whether an attempt shows the client its operation's outcome.
func isDecided(a history.Attempt) bool {
	return a.Outcome != history.Unknown && !slices.Contains(undecided, verdict(a.Status, a.Code))
}

func verdict(status int, code string) string { return fmt.Sprintf("%d %s", status, code) }

// Send makes one attempt. The history records it if it has a key.
func (c *Client) Send(ctx context.Context, to world.Endpoint, op Operation) history.Attempt {
	a := history.Attempt{
		Client: c.number, Replica: to.Number, Scope: op.Subject, Key: cmp.Or(op.lookedUp, op.call.Key), Operation: op.ID,
		Request: hash(op.call.Method, op.call.Path, op.call.Body), Account: op.account, Change: op.change,
		Start: c.History.Now(),
	}
	reply, err := c.try(ctx, to, op)
	a.End = c.History.Now()
	a.Outcome = outcomeOf(reply, err)
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Status, a.Code, a.Result = reply.Status, reply.Code(), reply.Header.Get("Idempotency-Result")
		a.SecondLine = a.Result == "reused" && !reply.Replayed()
		a.Response = hash(http.StatusText(reply.Status), string(reply.Body), reply.Header.Get("Location"), reply.Header.Get("Content-Type"))
		c.checkVerdict(op, reply)
	}
	if a.Outcome == history.OK {
		describe(&a, reply)
		if op.learn != nil {
			op.learn(reply)
		}
	}
	if ctx.Err() == nil {
		c.count(a, reply)
	}
	if a.Key != "" || a.Account != "" {
		c.History.Add(a)
	}
	return a
}

// checkVerdict fails the run if the service must not answer so.
func (l *Load) checkVerdict(op Operation, r e2e.Reply) {
	v := r.Verdict()
	may, refused := r.Status/100 == 2, refusals[op.ID]
	if op.stranger {
		may, refused = false, []string{"403 forbidden_resource"}
	}
	if may || slices.Contains(slices.Concat(alwaysAllowed, refused, l.allowed), v) {
		return
	}
	l.T.Errorf("%s %s %s by %s: %d %s", op.ID, op.call.Method, op.call.Path, op.Subject, r.Status, r.Body)
}

// describe adds details from a success to the history line.
func describe(a *history.Attempt, r e2e.Reply) {
	var body struct {
		ID           int64
		BalanceAfter *e2e.Money `json:"balance_after"`
		Balances     []e2e.Money
		Available    int64
	}
	_ = json.Unmarshal(r.Body, &body) // lists have none of these
	switch {
	case a.Operation == history.Lookup:
		a.Record = &history.Record{}
		_ = json.Unmarshal(r.Body, a.Record) // the checker reports a missing state
	case a.Operation == history.ReadStock && a.Account != "":
		a.After = new(body.Available)
	case a.Operation == history.ReadBalance:
		a.After = new(int64)
		for _, b := range body.Balances {
			*a.After = kopecks(b.Amount) // in the only currency
		}
	case a.Key != "":
		a.Effect = fmt.Sprintf("%s %d", Effects[a.Operation], body.ID)
	}
	if body.BalanceAfter != nil {
		a.After = new(kopecks(body.BalanceAfter.Amount))
	}
}

// Effects are the objects that commands make or change; a success contains their id.
var Effects = map[string]string{
	"createOrder": "order", "reserveInventory": "order", "cancelOrder": "order",
	"confirmPayment": "payment", "refundPayment": "refund", "adjustStock": "stock adjustment",
	"creditBalance": "balance transaction", "chargeBalance": "balance transaction",
}

// count counts an attempt by operation and outcome.
func (l *Load) count(a history.Attempt, r e2e.Reply) {
	l.Counters.Add("attempts", 1)
	l.Counters.Add(a.Operation+" "+string(a.Outcome), 1)
	switch {
	case a.Error != "":
		l.Counters.Add("requests without a response", 1)
	case a.Code != "":
		l.Counters.Add("responses "+a.Code, 1)
	case r.Replayed():
		l.Counters.Add("replays", 1)
	case a.SecondLine:
		l.Counters.Add("second-line answers", 1)
	}
}

// outcomeOf returns the outcome as a client knows it from a response.
func outcomeOf(r e2e.Reply, err error) history.Outcome {
	switch {
	case err != nil || r.Status >= http.StatusInternalServerError:
		return history.Unknown
	case r.Status/100 == 2:
		return history.OK
	}
	return history.Refused
}

// try sends a request once.
func (c *Client) try(ctx context.Context, to world.Endpoint, op Operation) (e2e.Reply, error) {
	req, err := http.NewRequestWithContext(ctx, op.call.Method, to.URL+op.call.Path, strings.NewReader(op.call.Body))
	if err != nil {
		return e2e.Reply{}, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.Token(c.T, op.Subject, op.role)}, "Content-Type": {"application/json"}}
	if op.call.Key != "" {
		req.Header.Set("Idempotency-Key", op.call.Key)
	}
	maps.Copy(req.Header, op.call.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		return e2e.Reply{}, err
	}
	defer resp.Body.Close()
	return e2e.ReadReply(resp)
}

// hash returns a short hash of several texts.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
