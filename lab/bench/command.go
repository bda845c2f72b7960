package bench

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/valyala/fasthttp"

	devissuer "example.com/orders/internal/dev/issuer"
)

// command is one report section: the requests to the service, and the baseline.
type command struct {
	name        string
	description string // one line in the report
	// script is the pgbench script that does the same database work. A replay has no script,
	// and is compared with the bare server.
	script      string
	connections []int // nil means the -connections flag
	// next returns a new request.
	next func(t *target, r *rand.Rand) (request, error)
	// Every response must have this status and replay flag.
	status   int
	replayed bool
	// prepare runs before each measurement; may be nil.
	prepare func(t *target)
	// supply returns the rows that requests use up; may be nil.
	supply func(t *target) *supply
	// skip updates the supply after pgbench has used some rows.
	skip func(t *target)
	// variables are set in the script, in addition to the shared ones.
	variables map[string]string
}

// someConnections is the number of connections for a single measurement.
const someConnections = 16

// hotConnections are the numbers of connections that contend for one row.
var hotConnections = []int{someConnections, 64}

func commands() []command {
	return []command{
		{
			name: "CreditBalance", description: "Many customers", script: "credit",
			next: creditOf(1, customers), status: http.StatusCreated,
			variables: customerRange(1, customers),
		},
		{
			name: "CreateOrder", description: "Two items from many products", script: "order",
			next: orderOf(1, products/2), status: http.StatusCreated,
			variables: productRange(1, products/2), prepare: deliverNewOrders,
		},
		{
			name: "ConfirmPayment", script: "confirm",
			description: "Orders that exist before the run, paid from the balance",
			next:        confirm, status: http.StatusOK, variables: productRange(1, products/2),
			supply: func(t *target) *supply { return t.orders }, skip: skipPaid,
		},
		{
			name: "Replay", description: "Retries of 1 000 requests",
			next: retryOfStorm, status: http.StatusCreated, replayed: true,
		},
		{
			name: "Replay, unseen", description: "Each key is new to this service process",
			connections: []int{someConnections},
			next:        retryOfUnseen, status: http.StatusCreated, replayed: true,
			supply: func(t *target) *supply { return t.unseen },
		},
		{
			name: "Hot customer", description: "All credits go to one balance", script: "credit",
			connections: hotConnections,
			next:        creditOf(1, 1), status: http.StatusCreated, variables: customerRange(1, 1),
		},
		{
			name: "Hot product", description: "One product is in every order", script: "order",
			connections: hotConnections,
			next:        orderOf(1, 1), status: http.StatusCreated, variables: productRange(1, 1),
			prepare: deliverNewOrders,
		},
	}
}

func customerRange(first, last int64) map[string]string {
	return map[string]string{"first_customer": number(first), "last_customer": number(last)}
}

// productRange picks for each order one product up to middle and one after it.
func productRange(first, middle int64) map[string]string {
	return map[string]string{
		"first_sku": number(first), "middle_sku": number(middle), "last_sku": number(products),
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func between(r *rand.Rand, first, last int64) string {
	return number(first + r.Int64N(last-first+1))
}

func newKey(r *rand.Rand) string { return between(r, firstKey, lastKey) }

func creditOf(first, last int64) func(*target, *rand.Rand) (request, error) {
	return func(t *target, r *rand.Rand) (request, error) {
		return credit(t, between(r, first, last), newKey(r)), nil
	}
}

const oneRouble = `{"amount": {"amount": "1.00", "currency": "RUB"}}`

func credit(t *target, customer, key string) request {
	return request{
		path: "/customers/" + customer + "/balance/credit", token: t.tokens.bank,
		key: key, body: oneRouble,
	}
}

// orderOf returns orders with one product up to middle and one after it.
func orderOf(first, middle int64) func(*target, *rand.Rand) (request, error) {
	return func(t *target, r *rand.Rand) (request, error) {
		body := `{"items": [{"sku": "` + between(r, first, middle) + `", "quantity": 1}, ` +
			`{"sku": "` + between(r, middle+1, products) + `", "quantity": 1}]}`
		token := t.tokens.buyers[1+r.IntN(buyers)]
		return request{path: "/orders", token: token, key: newKey(r), body: body}, nil
	}
}

func confirm(t *target, r *rand.Rand) (request, error) {
	id, err := t.orders.take()
	return request{
		path: "/orders/" + number(id) + "/payment/confirm", token: t.tokens.buyers[id%buyers+1],
		key: newKey(r), body: `{"method": "balance"}`,
	}, err
}

// skipPaid marks the orders that pgbench has paid as used. The pgbench clients share the orders
// evenly but not in step, so every order up to the last paid one counts.
func skipPaid(t *target) {
	last := t.Count(t.t, `SELECT max(id) FROM orders WHERE id >= $1 AND status = 'paid'`, t.orders.next())
	t.orders.skipTo(int64(last) + 1)
}

func retryOfStorm(t *target, r *rand.Rand) (request, error) {
	return credit(t, "1", between(r, firstStormKey, firstStormKey+stormKeys-1)), nil
}

func retryOfUnseen(t *target, _ *rand.Rand) (request, error) {
	key, err := t.unseen.take()
	return credit(t, "1", number(key)), err
}

// check returns an error for every unexpected response.
func (c command) check(res *fasthttp.Response) error {
	if res.StatusCode() != c.status {
		return fmt.Errorf("status %d instead of %d: %s", res.StatusCode(), c.status, res.Body())
	}
	if replayed := string(res.Header.Peek("Idempotent-Replayed")) == "true"; replayed != c.replayed {
		return fmt.Errorf("header Idempotent-Replayed is %t, want %t", replayed, c.replayed)
	}
	return nil
}

// load returns the command load on the service.
func (c command) load(t *target, connections int) load {
	return load{
		addr: t.service.addr, connections: connections, check: c.check,
		next: func(r *rand.Rand) (request, error) { return c.next(t, r) },
	}
}

// baseline returns the pgbench run of the command. pgbench writes the payloads unchanged.
func (c command) baseline(t *target, connections int, payloads map[string]string) baseline {
	all := map[string]string{
		"issuer": devissuer.Name, "scope": scopeOf(bank), "buyers": number(buyers),
		"clients": strconv.Itoa(connections), "iteration": "0",
		"first_order": number(t.orders.next()),
		// The first block with 100 ids is used up, so that each client draws a new one.
		"orders_used": "100", "payments_used": "100", "ledger_entries_used": "100",
	}
	maps.Copy(all, c.variables)
	maps.Copy(all, payloads)
	script, err := readScript(c.script)
	if err != nil {
		t.t.Fatal(err)
	}
	return baseline{name: c.name, script: script, connections: connections, variables: all}
}
