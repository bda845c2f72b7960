package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/pg/roundtrips"
)

// probeRequests is the number of requests to each side per probed command.
const probeRequests = 200

// probe describes a command before its measurement.
type probe struct {
	// payloads are one request's response and events, for pgbench to write.
	payloads map[string]string
	trips    int // median round trips to PostgreSQL per request
}

// probeAll probes the commands, with a proxy that counts the service's round trips.
func (b *bench) probeAll(
	ctx context.Context, t *target, commands []command,
) (map[string]probe, error) {
	proxy, err := roundtrips.Start(t.serviceURL())
	if err != nil {
		return nil, err
	}
	found, err := b.probeEach(ctx, t, proxy, commands)
	return found, errors.Join(err, t.stopService(), proxy.Close())
}

func (b *bench) probeEach(
	ctx context.Context, t *target, proxy *roundtrips.Proxy, commands []command,
) (map[string]probe, error) {
	if err := b.serve(ctx, t, proxy.URL(), 1); err != nil {
		return nil, err
	}
	found := map[string]probe{}
	for _, c := range commands {
		p, err := c.probe(ctx, t, proxy)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		b.progress("%s: %d round trips per request; service and script do the same work",
			c.name, p.trips)
		found[c.name] = p
	}
	return found, nil
}

// probe sends the same number of requests to the service and to the baseline. It
// returns an error if they run different queries or leave different rows, because then
// a comparison would be meaningless.
func (c command) probe(ctx context.Context, t *target, proxy *roundtrips.Proxy) (probe, error) {
	if c.supply != nil {
		if err := c.supply(t).prepare(ctx, 3*probeRequests); err != nil {
			return probe{}, err
		}
	}
	before, err := t.tableSizes(ctx)
	if err != nil {
		return probe{}, err
	}
	requests, err := c.traceRequests(ctx, t, proxy)
	if err != nil {
		return probe{}, err
	}
	between, err := t.tableSizes(ctx)
	if err != nil {
		return probe{}, err
	}
	p := probe{trips: medianTrips(requests)}
	events := (between["outbox"].rows - before["outbox"].rows) / probeRequests
	if p.payloads, err = c.readPayloads(ctx, t, events); err != nil {
		return p, err
	}
	if err := c.runBaselineOnce(ctx, t, p.payloads); err != nil {
		return p, err
	}
	after, err := t.tableSizes(ctx)
	if err != nil {
		return p, err
	}
	return p, errors.Join(c.sameQueries(requests), sameRows(before, between, after))
}

// traceRequests sends requests to the service, one at a time, and returns each
// request's round trips.
func (c command) traceRequests(
	ctx context.Context, t *target, proxy *roundtrips.Proxy,
) ([][]roundtrips.Trip, error) {
	var requests [][]roundtrips.Trip
	proxy.Take()
	err := c.load(t, 1).send(ctx, probeRequests, func() error {
		requests = append(requests, proxy.Take())
		return nil
	})
	return requests, err
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

// readPayloads reads the last request's response and events.
func (c command) readPayloads(
	ctx context.Context, t *target, events int64,
) (map[string]string, error) {
	payloads := map[string]string{}
	if c.replayed {
		return payloads, nil
	}
	var fingerprint, body string
	err := t.db.QueryRow(ctx, `SELECT fingerprint::text, convert_from(body, 'UTF8')
		FROM idempotency_record ORDER BY created_at DESC LIMIT 1`).Scan(&fingerprint, &body)
	if err != nil {
		return nil, err
	}
	payloads["fingerprint"], payloads["body"] = fingerprint, body
	rows, _ := t.db.Query(ctx, `SELECT data::text FROM outbox ORDER BY id DESC LIMIT $1`, events)
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for i, data := range written {
		payloads["event"+number(events-int64(i))] = strings.TrimSpace(data)
	}
	return payloads, err
}

func (c command) runBaselineOnce(ctx context.Context, t *target, payloads map[string]string) error {
	pgbench := c.baseline(t, 1, payloads)
	if err := pgbench.runTransactions(ctx, t.cluster, t.database, probeRequests); err != nil {
		return err
	}
	return c.skipUsed(ctx, t)
}
