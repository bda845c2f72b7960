package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// The section on isolation: another transaction holds the row of one balance. Requests
// for that balance wait; requests for all other balances must not.
const (
	lockedName        = "One row locked"
	otherConnections  = 64 // that send credits to other customers
	lockedConnections = 8  // that send credits to the customer of the row
	lockedCustomer    = 1
)

// lockedRound is the credits of other customers in one round.
type lockedRound struct {
	alone  sample // nobody sends credits to the customer of the row
	free   sample // the row is not locked
	locked sample
	failed int64 // unexpected responses to credits of other customers
}

// measureLocked measures isolation once per round.
func (b *bench) measureLocked(ctx context.Context, t *target) ([]*lockedRound, error) {
	if !strings.Contains(lockedName, b.only) {
		return nil, nil
	}
	var rounds []*lockedRound
	for i := range b.rounds {
		r := &lockedRound{}
		if err := r.measure(ctx, t, b.lockedTime()); err != nil {
			return nil, fmt.Errorf("%s: %w", lockedName, err)
		}
		b.progress("round %d of %d, %s: alone %.0f/s, row free %.0f/s, row locked %.0f/s, "+
			"%d failed", i+1, b.rounds, lockedName, r.alone.rate, r.free.rate, r.locked.rate, r.failed)
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// lockedTime is twice as long as other measurements: time for the service to refuse
// requests that wait for the row.
func (b *bench) lockedTime() timing { return timing{b.warmUp, 2 * b.length} }

func (r *lockedRound) measure(ctx context.Context, t *target, times timing) (err error) {
	if r.alone, err = r.creditOthers(ctx, t, times); err != nil {
		return err
	}
	if r.free, err = r.contend(ctx, t, times, func() error { return nil }); err != nil {
		return err
	}
	release, err := t.lockBalance(ctx, number(lockedCustomer))
	if err != nil {
		return err
	}
	r.locked, err = r.contend(ctx, t, times, release)
	return err
}

// contend sends credits to the customer of the row and to all others at the same time. It
// calls release when the others have been measured.
func (r *lockedRound) contend(
	ctx context.Context, t *target, times timing, release func() error,
) (sample, error) {
	row := load{
		addr: t.service.addr, connections: lockedConnections,
		next:  bindTarget(t, creditOf(lockedCustomer, lockedCustomer)),
		check: func(response) error { return nil }, // the service refuses them after a while
	}
	var measured sample
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := row.run(ctx, times, func() error { return nil })
		return err
	})
	group.Go(func() (err error) {
		measured, err = r.creditOthers(ctx, t, times)
		return errors.Join(err, release())
	})
	err := group.Wait()
	return measured, err
}

// creditOthers sends credits to all other customers, and counts those that fail.
func (r *lockedRound) creditOthers(
	ctx context.Context, t *target, times timing,
) (sample, error) {
	credits := commands()[0]
	credits.next = creditOf(lockedCustomer+1, customers)
	others := credits.load(t, otherConnections)
	var failed atomic.Int64
	others.failed = &failed
	counted, err := others.run(ctx, times, func() error { return nil })
	if err != nil {
		return sample{}, err
	}
	r.failed += failed.Load()
	return counted.sample(), nil
}

// lockBalance locks the row of a balance until release is called.
func (t *target) lockBalance(ctx context.Context, customer string) (release func() error, err error) {
	conn, err := pgx.Connect(ctx, t.cluster.URL(t.database))
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `BEGIN`)
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return func() error {
		ctx := context.WithoutCancel(ctx)
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return errors.Join(err, conn.Close(ctx))
	}, nil
}

// failuresOf returns an error if a credit of another customer failed.
func failuresOf(rounds []*lockedRound) error {
	for _, r := range rounds {
		if r.failed > 0 {
			return fmt.Errorf("%s: %d requests of other customers failed", lockedName, r.failed)
		}
	}
	return nil
}

const lockedText = `
## %s

CreditBalance of many customers with %d connections, while another transaction holds the
row of one more balance for %v. During that time, %d further connections send credits to
this balance, which are not counted. *Row free* is the same load without the lock,
*alone* without these connections. The locked row must not slow the others down.

| alone, req/s | row free, req/s | row locked, req/s | locked ÷ alone | locked ÷ free | p99 free, ms | p99 locked, ms | failed |
|---:|---:|---:|---:|---:|---:|---:|---:|
`

// lockedSection returns the section of the report, empty if nothing was measured.
func lockedSection(rounds []*lockedRound, held time.Duration) string {
	if len(rounds) == 0 {
		return ""
	}
	var alone, free, locked []sample
	var failed int64
	for _, r := range rounds {
		alone, free, locked = append(alone, r.alone), append(free, r.free), append(locked, r.locked)
		failed += r.failed
	}
	return fmt.Sprintf(lockedText+"| %.0f | %.0f | %.0f | **%.2f** | %.2f | %.2f | %.2f | %d |\n",
		lockedName, otherConnections, held, lockedConnections,
		medianOf(alone, rateOf), medianOf(free, rateOf), medianOf(locked, rateOf),
		medianRatio(locked, alone, rateOf), medianRatio(locked, free, rateOf),
		medianOf(free, p99Of), medianOf(locked, p99Of), failed)
}
