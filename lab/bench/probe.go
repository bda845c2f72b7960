package bench

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/pg/roundtrips"
)

// probeRequests is the number of requests to each side per probed command.
const probeRequests = 200

// probe describes a command before the measurement.
type probe struct {
	// payloads are one request's response and events, for pgbench to write.
	payloads map[string]string
	trips    int // median round trips to PostgreSQL per request
}

// probeAll probes the commands, with a proxy that counts the round trips.
func (b *bench) probeAll(t *target, commands []command) map[string]probe {
	proxy := roundtrips.Start(b.t, t.ServiceURL(b.t))
	b.serve(t, proxy.URL(), 1)
	found := map[string]probe{}
	for _, c := range commands {
		p := c.probe(t, proxy)
		b.t.Logf("%s: %d round trips per request", c.name, p.trips)
		found[c.name] = p
	}
	t.service.stop()
	return found
}

// probe sends the same number of requests to the service and to pgbench. It ends the
// benchmark if they run different queries or leave different rows, because then a
// comparison would be meaningless.
func (c command) probe(t *target, proxy *roundtrips.Proxy) probe {
	if c.supply != nil {
		c.supply(t).prepare(3 * probeRequests)
	}
	if c.script == "" {
		return probe{trips: medianTrips(c.traceRequests(t, proxy))}
	}
	before := t.tableSizes()
	requests := c.traceRequests(t, proxy)
	between := t.tableSizes()
	p := probe{trips: medianTrips(requests)}
	p.payloads = c.readPayloads(t, (between["outbox"].rows-before["outbox"].rows)/probeRequests)
	c.baseline(t, 1, p.payloads).runTransactions(t, probeRequests)
	c.skipUsed(t)
	if err := errors.Join(c.sameQueries(requests), sameRows(before, between, t.tableSizes())); err != nil {
		t.t.Fatalf("%s: %v", c.name, err)
	}
	return p
}

// traceRequests sends requests to the service, one at a time, and returns each
// request's round trips.
func (c command) traceRequests(t *target, proxy *roundtrips.Proxy) (requests [][]roundtrips.Trip) {
	proxy.Take()
	err := c.load(t, 1).send(probeRequests, func() { requests = append(requests, proxy.Take()) })
	if err != nil {
		t.t.Fatal(err)
	}
	return requests
}

// medianTrips returns the median number of round trips. The service's background jobs
// add round trips to some requests.
func medianTrips(requests [][]roundtrips.Trip) int {
	counts := make([]int, len(requests))
	for i, trips := range requests {
		counts[i] = len(trips)
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// readPayloads reads the response and the events of the last request.
func (c command) readPayloads(t *target, events int64) map[string]string {
	var fingerprint, body string
	err := t.DB.QueryRow(t.t.Context(), `SELECT fingerprint::text, convert_from(body, 'UTF8')
		FROM idempotency_record ORDER BY created_at DESC LIMIT 1`).Scan(&fingerprint, &body)
	if err != nil {
		t.t.Fatal(err)
	}
	payloads := map[string]string{"fingerprint": fingerprint, "body": body}
	rows, _ := t.DB.Query(t.t.Context(), `SELECT data::text FROM outbox ORDER BY id DESC LIMIT $1`, events)
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.t.Fatal(err)
	}
	for i, data := range written {
		payloads["event"+number(events-int64(i))] = strings.TrimSpace(data)
	}
	return payloads
}
