package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/orders/internal/test/pg/roundtrips"
)

// probes is how often each command is done on either side, one at a time, to look at it
// closely before anything is measured.
const probes = 200

// probe is what a close look finds out.
type probe struct {
	samples map[string]string // answers and events, for pgbench to write the same
	trips   int               // round trips of one request, the median
}

// look makes the service do a command some times and pgbench as often, and fails unless
// both leave the same rows of the same size: else the comparison would say nothing.
func look(ctx context.Context, s *site, wire *roundtrips.Proxy, c command) (probe, error) {
	if c.supply != nil {
		if err := c.supply(s).stockFor(ctx, 3*probes); err != nil {
			return probe{}, err
		}
	}
	before, err := s.rows(ctx)
	if err != nil {
		return probe{}, err
	}
	p := probe{}
	if p.trips, err = countTrips(ctx, s, wire, c); err != nil {
		return p, err
	}
	between, err := s.rows(ctx)
	if err != nil {
		return p, err
	}
	if p.samples, err = s.sample(ctx, c, between["outbox"].rows-before["outbox"].rows); err != nil {
		return p, err
	}
	if err := c.limit(s, 1, p.samples).count(ctx, s.cluster, s.database, probes); err != nil {
		return p, err
	}
	if c.skip != nil {
		if err := c.skip(ctx, s); err != nil {
			return p, err
		}
	}
	after, err := s.rows(ctx)
	if err != nil {
		return p, err
	}
	return p, sameWork(before, between, after)
}

// countTrips gives the median, for the jobs of the service use the database as well.
func countTrips(ctx context.Context, s *site, wire *roundtrips.Proxy, c command) (int, error) {
	var trips []int
	wire.Take()
	err := c.load(s, 1).send(ctx, probes, func() error {
		trips = append(trips, len(wire.Take()))
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(trips)
	return trips[len(trips)/2], nil
}

// size is how much a table holds.
type size struct{ rows, bytes int64 }

// rows gives the size of every table that commands write.
func (s *site) rows(ctx context.Context) (map[string]size, error) {
	sizes := map[string]size{}
	for _, table := range []string{
		"product", "orders", "order_item", "reservation", "payment", "refund",
		"balance", "ledger_entry", "outbox", "audit_log", "idempotency_record",
	} {
		var is size
		err := s.db.QueryRow(ctx, `SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM `+table+` t`).Scan(&is.rows, &is.bytes)
		if err != nil {
			return nil, err
		}
		sizes[table] = is
	}
	return sizes, nil
}

// sameWork compares what two runs have added: the same number of rows, and their bytes
// but for a twentieth.
func sameWork(before, between, after map[string]size) error {
	var differences []error
	for table := range before {
		a := size{between[table].rows - before[table].rows, between[table].bytes - before[table].bytes}
		b := size{after[table].rows - between[table].rows, after[table].bytes - between[table].bytes}
		if a.rows != b.rows || math.Abs(float64(a.bytes-b.bytes)) > 0.05*math.Abs(float64(a.bytes))+probes {
			differences = append(differences, fmt.Errorf("%s: the service added %d rows of %d bytes, its script %d of %d",
				table, a.rows, a.bytes, b.rows, b.bytes))
		}
	}
	return errors.Join(differences...)
}

// sample takes the answer and the events of the last request, to be written by pgbench.
func (s *site) sample(ctx context.Context, c command, events int64) (map[string]string, error) {
	found := map[string]string{}
	if c.replayed {
		return found, nil
	}
	var fingerprint, body string
	err := s.db.QueryRow(ctx, `SELECT fingerprint::text, convert_from(body, 'UTF8') FROM idempotency_record
		ORDER BY created_at DESC LIMIT 1`).Scan(&fingerprint, &body)
	if err != nil {
		return nil, err
	}
	found["fingerprint"], found["body"] = fingerprint, body
	rows, err := s.db.Query(ctx, `SELECT data::text FROM outbox ORDER BY id DESC LIMIT $1`, events/probes)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for n := events / probes; rows.Next(); n-- {
		var data string
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		found["event"+number(n)] = strings.TrimSpace(data)
	}
	return found, rows.Err()
}
