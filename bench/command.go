package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"

	devissuer "example.com/orders/internal/dev/issuer"
)

// command is one row of the report: what the service is asked for, and the script that
// does the same without it.
type command struct {
	name   string
	about  string // one line for the reader of the report
	script string
	// where lists the numbers of connections; nil means all.
	where []int
	// next makes a request.
	next func(s *site, r *rand.Rand) (call, error)
	// status is what every answer must have; replayed tells that it must be a replay.
	status   int
	replayed bool
	// supply is what requests use up, nil for nothing.
	supply func(s *site) *supply
	// skip finds out what pgbench has used up.
	skip func(ctx context.Context, s *site) error
	// variables are pgbench's, beside those that all scripts know.
	variables map[string]string
}

// hotAt is where contention on one row is measured.
const hotAt = 16

func commands() []command {
	return []command{
		{
			name: "CreditBalance", about: "many customers", script: "credit",
			next: creditOf(1, customers), status: http.StatusCreated, variables: customersFrom(1, customers),
		},
		{
			name: "CreateOrder", about: "two items of many products", script: "order",
			next: orderOf(1, products/2), status: http.StatusCreated, variables: productsFrom(1, products/2),
		},
		{
			name: "ConfirmPayment", about: "from the balance, orders prepared", script: "confirm",
			next: confirm, status: http.StatusOK, variables: productsFrom(1, products/2),
			supply: func(s *site) *supply { return s.orders }, skip: skipPaid,
		},
		{
			name: "Replay", about: "a storm of retries of 1 000 requests", script: "replay",
			next: storm, status: http.StatusCreated, replayed: true, variables: keysFrom(firstStormKey, stormKeys),
		},
		{
			name: "Replay, unseen", about: "each key for the first time in this process", script: "replay", where: []int{hotAt},
			next: retryUnseen, status: http.StatusCreated, replayed: true, variables: keysFrom(firstUnseenKey, 100_000),
			supply: func(s *site) *supply { return s.unseen }, skip: func(context.Context, *site) error { return nil },
		},
		{
			name: "Hot customer", about: "all credits to one balance", script: "credit", where: []int{hotAt},
			next: creditOf(1, 1), status: http.StatusCreated, variables: customersFrom(1, 1),
		},
		{
			name: "Hot product", about: "one product in every order", script: "order", where: []int{hotAt},
			next: orderOf(1, 1), status: http.StatusCreated, variables: productsFrom(1, 1),
		},
	}
}

func customersFrom(first, last int64) map[string]string {
	return map[string]string{"first_customer": number(first), "last_customer": number(last)}
}

func productsFrom(first, middle int64) map[string]string {
	return map[string]string{"first_sku": number(first), "middle_sku": number(middle), "last_sku": number(products)}
}

func keysFrom(first, n int64) map[string]string {
	return map[string]string{"first_key": number(first), "last_key": number(first + n - 1)}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func between(r *rand.Rand, first, last int64) string { return number(first + r.Int64N(last-first+1)) }

func newKey(r *rand.Rand) string { return between(r, firstKey, lastKey) }

const oneRouble = `{"amount": {"amount": "1.00", "currency": "RUB"}}`

func creditOf(first, last int64) func(*site, *rand.Rand) (call, error) {
	return func(s *site, r *rand.Rand) (call, error) {
		return credit(s, between(r, first, last), newKey(r)), nil
	}
}

func credit(s *site, customer, key string) call {
	return call{path: "/customers/" + customer + "/balance/credit", token: s.tokens.bank, key: key, body: oneRouble}
}

// orderOf asks for one product up to middle and for one behind it.
func orderOf(first, middle int64) func(*site, *rand.Rand) (call, error) {
	return func(s *site, r *rand.Rand) (call, error) {
		body := `{"items": [{"sku": "` + between(r, first, middle) + `", "quantity": 1}, ` +
			`{"sku": "` + between(r, middle+1, products) + `", "quantity": 1}]}`
		return call{path: "/orders", token: s.tokens.buyers[1+r.IntN(buyers)], key: newKey(r), body: body}, nil
	}
}

func confirm(s *site, r *rand.Rand) (call, error) {
	id, err := s.orders.take()
	return call{
		path: "/orders/" + number(id) + "/payment/confirm", token: s.tokens.buyers[id%buyers+1],
		key: newKey(r), body: `{"method": "balance"}`,
	}, err
}

// skipPaid finds how far pgbench's clients have come: they take turns in the orders.
func skipPaid(ctx context.Context, s *site) error {
	var last int64
	err := s.db.QueryRow(ctx, `SELECT max(id) FROM orders WHERE id >= $1 AND status = 'paid'`, s.orders.next()).Scan(&last)
	s.orders.skipTo(last + 1)
	return err
}

func storm(s *site, r *rand.Rand) (call, error) {
	return credit(s, "1", between(r, firstStormKey, firstStormKey+stormKeys-1)), nil
}

func retryUnseen(s *site, _ *rand.Rand) (call, error) {
	key, err := s.unseen.take()
	return credit(s, "1", number(key)), err
}

// check refuses every answer but the one that is measured.
func (c command) check(rep reply) error {
	if rep.status != c.status {
		return fmt.Errorf("status %d instead of %d: %s", rep.status, c.status, rep.body)
	}
	if rep.replayed != c.replayed {
		return fmt.Errorf("the header Idempotent-Replayed says %t", rep.replayed)
	}
	return nil
}

// load makes the load of the command.
func (c command) load(s *site, connections int) load {
	return load{
		addr: s.service.addr, connections: connections, check: c.check,
		next: func(r *rand.Rand) (call, error) { return c.next(s, r) },
	}
}

// limit makes the run of pgbench. Samples are answers and events of the service.
func (c command) limit(s *site, connections int, samples map[string]string) limit {
	all := map[string]string{
		"issuer": devissuer.Name, "principal": principal(bank), "buyers": number(buyers),
		"clients": strconv.Itoa(connections), "turn": "0", "first_order": number(s.orders.next()),
		"orders_used": "100", "payments_used": "100", "transactions_used": "100",
	}
	maps.Copy(all, c.variables)
	maps.Copy(all, samples)
	return limit{script: c.script, connections: connections, variables: all}
}
