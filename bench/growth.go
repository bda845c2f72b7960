package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// What the large database holds at scale 1.
const (
	grownRecords   = 10_000_000
	grownOrders    = 1_000_000
	expiredRecords = 1_000_000
	// firstGrownOrder is the first id of its orders: no sequence gets there, and it is not
	// among those that are prepared to be paid.
	firstGrownOrder = 100_000_000_000
	// loadChunk is how many records one statement loads.
	loadChunk = 500_000
	// cleanPatience bounds how long clean-up is watched.
	cleanPatience = 60 * time.Second
)

// growth measures the service on an empty and on a large database in turns, and then
// beside clean-up.
func (b *bench) growth(ctx context.Context, out io.Writer) error {
	small, large, err := b.load(ctx)
	if err != nil {
		return err
	}
	commands := b.wanted()
	probes, err := b.probe(ctx, large, commands)
	if err != nil {
		return err
	}
	for _, s := range []*site{small, large} {
		if err := b.serve(ctx, s, b.cluster.URL(s.database), b.pool); err != nil {
			return err
		}
	}
	machine, err := b.machine(ctx, large)
	if err != nil {
		return err
	}
	grown, err := b.grown(ctx, small, large, b.plan(commands, probes))
	if err != nil {
		return err
	}
	cleaned, err := b.cleanUp(ctx, large)
	if err != nil {
		return err
	}
	return b.reportGrowth(ctx, out, large, machine, grown, cleaned)
}

// load fills a database quickly: with durability off, and on again for what is measured.
func (b *bench) load(ctx context.Context) (small, large *site, err error) {
	if small, err = b.newSite(ctx, "small"); err != nil {
		return nil, nil, err
	}
	if large, err = b.newSite(ctx, "large"); err != nil {
		return nil, nil, err
	}
	if err := b.grow(ctx, large); err != nil {
		return nil, nil, err
	}
	for _, s := range b.sites {
		if err := s.db.Close(ctx); err != nil {
			return nil, nil, err
		}
	}
	b.say("starting PostgreSQL again, durable")
	if err := b.cluster.restart(ctx, saneSettings); err != nil {
		return nil, nil, err
	}
	for _, s := range b.sites {
		if err := s.connect(ctx); err != nil {
			return nil, nil, err
		}
	}
	return small, large, nil
}

// grow loads records and orders. Keys grow, so that the index is filled from one end,
// and are spread over all that a key can be, so that new keys fall between them.
func (b *bench) grow(ctx context.Context, s *site) error {
	records, orders := b.scaled(grownRecords), b.scaled(grownOrders)
	for from := int64(0); from < records; from += loadChunk {
		to := min(from+loadChunk, records)
		if err := s.exec(ctx, recordsSQL(from, to, (lastKey-firstKey)/records, firstKey, "interval '72 hours'")); err != nil {
			return err
		}
		b.say("loaded %d records", to)
	}
	if err := s.exec(ctx, append([]string{`SET session_replication_role = replica`}, ordersSQL(orders)...)...); err != nil {
		return err
	}
	b.say("loaded %d orders with items, payments and entries", orders)
	err := s.exec(ctx, `RESET session_replication_role`, `VACUUM ANALYZE`, `CHECKPOINT`)
	b.say("analysed")
	return err
}

func (b *bench) scaled(n int64) int64 { return max(int64(float64(n)*b.scale), 1) }

// recordsSQL makes records as credits leave them.
func recordsSQL(from, to, step, first int64, life string) string {
	return fmt.Sprintf(`INSERT INTO idempotency_record
		SELECT '%s', (%d + i * %d + (random() * %d)::bigint)::text, sha256(i::text::bytea) || '\x01', 'creditBalance', 201,
			'application/json', '', convert_to(rpad('{"id":' || i || ',"customer_id":"1"', 220, ' ') || '}', 'UTF8'),
			now(), now() + %s + i * interval '1 microsecond'
		FROM generate_series(%d::bigint, %d) i`,
		principal(bank), first, step, step-1, life, from, to-1)
}

// ordersSQL makes paid orders with what belongs to them.
func ordersSQL(n int64) []string {
	from := fmt.Sprintf(`FROM generate_series(%d::bigint, %d) i`, firstGrownOrder, firstGrownOrder+n-1)
	customer := fmt.Sprintf(`(i %% %d + 1)::text`, customers)
	return []string{
		`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version, created_by,
			idempotency_key, created_at, updated_at) OVERRIDING SYSTEM VALUE
			SELECT i, ` + customer + `, 'shop', 'paid', 2.00, 'RUB', NULL, 2, ` + customer + `, i::text, now(), now() ` + from,
		fmt.Sprintf(`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
			SELECT i, line, (i %% %d + (line - 1) * %[1]d + 1)::text, 1, 1.00 %s, generate_series(1, 2) line`, products/2, from),
		`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, i, i::text, 2.00, 'RUB', 'balance', 'captured', ` + customer + `, now() ` + from,
		`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, created_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, 'payment', 'customer/' || ` + customer + `, 'seller/shop', 2.00, 'RUB', ` + customer + `, 1000000000, i, now() ` + from,
	}
}

// grownSeries is one command on both databases. What stands at the same place was
// measured in one turn.
type grownSeries struct {
	series
	small, large []cell
}

// grown measures the service on both databases in turns.
func (b *bench) grown(ctx context.Context, small, large *site, plan []*series) ([]*grownSeries, error) {
	all := make([]*grownSeries, len(plan))
	for i, r := range plan {
		all[i] = &grownSeries{series: *r}
	}
	for round := range b.rounds {
		for _, r := range all {
			if err := r.turn(ctx, small, large, b.timing, round%2 == 0); err != nil {
				return nil, err
			}
			b.say("round %d of %d, %s, %d connections: empty %.0f/s, large %.0f/s", round+1, b.rounds,
				r.command.name, r.connections, r.small[round].rate, r.large[round].rate)
		}
	}
	return all, nil
}

func (r *grownSeries) turn(ctx context.Context, small, large *site, t timing, smallFirst bool) error {
	sides := []struct {
		site  *site
		cells *[]cell
	}{{small, &r.small}, {large, &r.large}}
	if !smallFirst {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		measured, err := r.command.measureService(ctx, side.site, r.connections, t)
		if err != nil {
			return err
		}
		*side.cells = append(*side.cells, measured)
	}
	return nil
}

// cleaning is one turn with and without clean-up. Both begin alike, with a checkpoint and a
// new process, and go on for as long.
type cleaning struct {
	// busy tells of each second whether clean-up was at work in all of it; the others of
	// either side do not count.
	busy          []bool
	with, without []cell
	removed       int64
	took          time.Duration
}

// cleanUp measures credits with and without clean-up beside them. The service cleans up
// by itself, first of all when it starts: so it is started again when there is much to do.
func (b *bench) cleanUp(ctx context.Context, s *site) ([]cleaning, error) {
	credits := commands()[0]
	var turns []cleaning
	for round := range b.rounds {
		var turn cleaning
		if err := b.expire(ctx, s, b.scaled(expiredRecords)/int64(b.rounds)); err != nil {
			return nil, err
		}
		if err := turn.beside(ctx, s, credits); err != nil {
			return nil, err
		}
		if err := b.expire(ctx, s, 0); err != nil {
			return nil, err
		}
		if err := turn.alone(ctx, s, credits); err != nil {
			return nil, err
		}
		with, without := turn.rates()
		b.say("clean-up, round %d of %d: %.0f/s without, %.0f/s beside the removal of %d records in %.1f s",
			round+1, b.rounds, without, with, turn.removed, turn.took.Seconds())
		turns = append(turns, turn)
	}
	return turns, nil
}

// expire stops the service, adds n records that have expired, and starts the service.
func (b *bench) expire(ctx context.Context, s *site, n int64) error {
	old := s.service
	s.service = nil
	if err := old.stop(); err != nil {
		return err
	}
	err := s.exec(ctx,
		`DELETE FROM idempotency_record WHERE expires_at <= now()`,
		recordsSQL(0, n, 1000, firstExpiredKey, "interval '-1 hour'"),
		`VACUUM ANALYZE idempotency_record`, `CHECKPOINT`)
	if err != nil {
		return err
	}
	return b.serve(ctx, s, b.cluster.URL(s.database), b.pool)
}

// beside puts load on the service until clean-up has nothing left to do, in pieces of a
// second.
func (turn *cleaning) beside(ctx context.Context, s *site, c command) error {
	before, err := s.expired(ctx)
	if err != nil {
		return err
	}
	start, left := time.Now(), before
	for left > 0 && time.Since(start) < cleanPatience {
		was := left
		measured, err := c.measureService(ctx, s, hotAt, timing{0, time.Second})
		if err != nil {
			return err
		}
		if left, err = s.expired(ctx); err != nil {
			return err
		}
		turn.with = append(turn.with, measured)
		turn.busy = append(turn.busy, left > 0 && left < was)
	}
	turn.removed, turn.took = before-left, time.Since(start)
	return nil
}

// alone does the same with nothing to clean up.
func (turn *cleaning) alone(ctx context.Context, s *site, c command) error {
	for range turn.with {
		measured, err := c.measureService(ctx, s, hotAt, timing{0, time.Second})
		if err != nil {
			return err
		}
		if _, err := s.expired(ctx); err != nil {
			return err
		}
		turn.without = append(turn.without, measured)
	}
	return nil
}

// rates gives the medians of the seconds that count.
func (turn *cleaning) rates() (with, without float64) {
	pick := func(cells []cell) float64 {
		var rates []float64
		for i, busy := range turn.busy {
			if busy {
				rates = append(rates, cells[i].rate)
			}
		}
		return median(rates)
	}
	return pick(turn.with), pick(turn.without)
}

// expired counts the records that have expired.
func (s *site) expired(ctx context.Context) (int64, error) {
	var n int64
	err := s.db.QueryRow(ctx, `SELECT count(*) FROM idempotency_record WHERE expires_at <= now()`).Scan(&n)
	return n, err
}

func (b *bench) reportGrowth(ctx context.Context, out io.Writer, large *site, machine string, all []*grownSeries, cleaned []cleaning) error {
	var held string
	err := large.db.QueryRow(ctx, `SELECT pg_size_pretty(pg_database_size(current_database()))`).Scan(&held)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d records and %d orders, %s", b.scaled(grownRecords), b.scaled(grownOrders), held)
	return b.publish(out, growthText(machine, what, all, cleaned))
}

func growthText(machine, held string, all []*grownSeries, cleaned []cleaning) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "# Growth\n\n%s\n\nThe service on an empty database and on one with %s,\nin turns. "+
		"Durability was off while it was filled, and on when it was measured.\n\n", machine, held)
	fmt.Fprintln(out, "| command | connections | empty /s | large /s | large ÷ empty | p99 ms, empty | p99 ms, large |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|")
	p99 := func(c cell) float64 { return milliseconds(c.p99) }
	for _, r := range all {
		pair := series{limit: r.small, service: r.large}
		fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f |\n", r.command.name, r.connections,
			of(r.small, rateOf), of(r.large, rateOf), pair.ratio(), of(r.small, p99), of(r.large, p99))
	}
	fmt.Fprintf(out, "\nCreditBalance with %d connections beside the clean-up of expired records:\n\n", hotAt)
	fmt.Fprintln(out, "| turn | without /s | with /s | with ÷ without | removed | within s |")
	fmt.Fprintln(out, "|---:|---:|---:|---:|---:|---:|")
	for i, turn := range cleaned {
		with, without := turn.rates()
		fmt.Fprintf(out, "| %d | %.0f | %.0f | **%.2f** | %d | %.1f |\n", i+1,
			without, with, with/without, turn.removed, turn.took.Seconds())
	}
	return out.String()
}
