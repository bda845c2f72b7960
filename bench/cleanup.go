package main

import (
	"context"
	"time"
)

const (
	// expiredRecords is how many expired records a run adds at scale 1, over all
	// rounds.
	expiredRecords = 1_000_000
	// cleanUpTimeout bounds one round with clean-up.
	cleanUpTimeout = 60 * time.Second
)

// cleanUpRound measures credits with and without clean-up. Both halves begin with a
// checkpoint and a new process of the service, and take the same number of samples.
type cleanUpRound struct {
	with, without []sample // each over one second
	// busy says for each sample whether clean-up worked through all of its second. The
	// rates of a round use only these samples, of both halves.
	busy     []bool
	removed  int64
	duration time.Duration
}

// measureCleanUp measures credits with and without clean-up once per round. The service
// cleans up when it starts, so that each round restarts it.
func (b *bench) measureCleanUp(ctx context.Context, t *target) ([]cleanUpRound, error) {
	credits := commands()[0]
	var rounds []cleanUpRound
	for i := range b.rounds {
		var round cleanUpRound
		expired := b.scaled(expiredRecords) / int64(b.rounds)
		if err := b.restartWithExpired(ctx, t, expired); err != nil {
			return nil, err
		}
		if err := round.measureWith(ctx, t, credits); err != nil {
			return nil, err
		}
		if err := b.restartWithExpired(ctx, t, 0); err != nil {
			return nil, err
		}
		if err := round.measureWithout(ctx, t, credits); err != nil {
			return nil, err
		}
		with, without := round.rates()
		b.progress("clean-up, round %d of %d: "+
			"%.0f/s without, %.0f/s with; removed %d records in %.1f s",
			i+1, b.rounds, without, with, round.removed, round.duration.Seconds())
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// restartWithExpired restarts the service on a database with n expired records.
func (b *bench) restartWithExpired(ctx context.Context, t *target, n int64) error {
	if err := t.stopService(); err != nil {
		return err
	}
	err := t.exec(ctx,
		`DELETE FROM idempotency_record WHERE expires_at <= now()`,
		recordsSQL(0, n, 1000, firstExpiredKey, "interval '-1 hour'"),
		`VACUUM ANALYZE idempotency_record`, `CHECKPOINT`)
	if err != nil {
		return err
	}
	return b.serve(ctx, t, t.serviceURL(), b.pool)
}

// measureWith takes samples until no expired records are left.
func (r *cleanUpRound) measureWith(ctx context.Context, t *target, c command) error {
	before, err := t.countExpired(ctx)
	if err != nil {
		return err
	}
	start, expired := time.Now(), before
	for expired > 0 && time.Since(start) < cleanUpTimeout {
		previous := expired
		measured, err := c.measureService(ctx, t, someConnections, timing{0, time.Second})
		if err != nil {
			return err
		}
		if expired, err = t.countExpired(ctx); err != nil {
			return err
		}
		r.with = append(r.with, measured)
		r.busy = append(r.busy, expired > 0 && expired < previous)
	}
	r.removed, r.duration = before-expired, time.Since(start)
	return nil
}

// measureWithout takes as many samples as measureWith, with nothing to clean up.
func (r *cleanUpRound) measureWithout(ctx context.Context, t *target, c command) error {
	for range r.with {
		measured, err := c.measureService(ctx, t, someConnections, timing{0, time.Second})
		if err != nil {
			return err
		}
		// measureWith runs this query between its samples too.
		if _, err := t.countExpired(ctx); err != nil {
			return err
		}
		r.without = append(r.without, measured)
	}
	return nil
}

// rates returns the median rates of the samples during which clean-up was busy.
func (r *cleanUpRound) rates() (with, without float64) {
	medianRate := func(samples []sample) float64 {
		var rates []float64
		for i, busy := range r.busy {
			if busy {
				rates = append(rates, samples[i].rate)
			}
		}
		return median(rates)
	}
	return medianRate(r.with), medianRate(r.without)
}

func (t *target) countExpired(ctx context.Context) (int64, error) {
	var n int64
	err := t.db.QueryRow(ctx,
		`SELECT count(*) FROM idempotency_record WHERE expires_at <= now()`).Scan(&n)
	return n, err
}
