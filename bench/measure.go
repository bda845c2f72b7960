package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// cell is one measurement of one side.
type cell struct {
	rate     float64 // requests a second
	p50, p99 time.Duration
	// CPU seconds for 1 000 requests.
	cpuService, cpuPostgres, cpuLoad float64
	wal                              float64 // bytes of log that a request makes durable
	memory                           int64   // the most that the service had at once
}

// series is all measurements of one command at one number of connections: what stands at
// the same place in both lists was measured in one turn.
type series struct {
	command     command
	connections int
	trips       int
	limit       []cell
	service     []cell
}

// ratio is the median of the ratios turn by turn: what drifts between turns cancels out.
func (r *series) ratio() float64 {
	ratios := make([]float64, len(r.limit))
	for i := range ratios {
		ratios[i] = r.service[i].rate / r.limit[i].rate
	}
	return median(ratios)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// of gives the median of one figure.
func of(cells []cell, figure func(cell) float64) float64 {
	values := make([]float64, len(cells))
	for i, c := range cells {
		values[i] = figure(c)
	}
	return median(values)
}

// usage is what has been used up to a moment.
type usage struct {
	service, postgres, load time.Duration
	wal                     int64
}

func (s *site) usage(ctx context.Context) (usage, error) {
	u := usage{load: cpuOfSelf()}
	var err error
	if u.service, err = cpuOf(s.service.cmd.Process.Pid); err != nil {
		return u, err
	}
	if u.postgres, err = cpuOf(s.cluster.pid); err != nil {
		return u, err
	}
	err = s.db.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&u.wal)
	return u, err
}

// charge notes what was used between two moments for a number of requests.
func (c *cell) charge(from, to usage, requests int64) {
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(requests) }
	c.cpuService = each(to.service - from.service)
	c.cpuPostgres = each(to.postgres - from.postgres)
	c.cpuLoad = each(to.load - from.load)
	c.wal = float64(to.wal-from.wal) / float64(requests)
}

// timing is how long each measurement takes.
type timing struct{ warm, length time.Duration }

// measureLimit runs pgbench once.
func (c command) measureLimit(ctx context.Context, s *site, connections int, samples map[string]string, t timing) (cell, error) {
	if err := c.stock(ctx, s, t); err != nil {
		return cell{}, err
	}
	from, err := s.usage(ctx)
	if err != nil {
		return cell{}, err
	}
	result, cpu, err := c.limit(s, connections, samples).run(ctx, s.cluster, s.database, t.warm, t.length)
	if err != nil {
		return cell{}, err
	}
	to, err := s.usage(ctx)
	if err != nil {
		return cell{}, err
	}
	measured := cell{rate: result.rate}
	measured.charge(from, to, result.transactions)
	measured.cpuLoad = cpu.Seconds() * 1000 / float64(result.transactions)
	if c.skip != nil {
		err = c.skip(ctx, s)
	}
	return measured, err
}

// measureService puts load on the service once.
func (c command) measureService(ctx context.Context, s *site, connections int, t timing) (cell, error) {
	if err := c.stock(ctx, s, t); err != nil {
		return cell{}, err
	}
	pid := s.service.cmd.Process.Pid
	if err := resetPeakMemory(pid); err != nil {
		return cell{}, err
	}
	var marks []usage
	counted, err := c.load(s, connections).run(ctx, t.warm, t.length, func() error {
		u, err := s.usage(ctx)
		marks = append(marks, u)
		return err
	})
	if err != nil {
		return cell{}, fmt.Errorf("%s with %d connections: %w", c.name, connections, err)
	}
	measured := cell{rate: counted.rate(), p50: counted.times.quantile(0.5), p99: counted.times.quantile(0.99)}
	measured.charge(marks[0], marks[1], counted.requests)
	measured.memory, err = peakMemory(pid)
	return measured, err
}

func (c command) stock(ctx context.Context, s *site, t timing) error {
	if c.supply == nil {
		return nil
	}
	return c.supply(s).stock(ctx, t.warm+t.length+time.Second)
}

// turn measures both sides once, the one or the other first.
func (r *series) turn(ctx context.Context, s *site, samples map[string]string, t timing, limitFirst bool) error {
	limit := func() error {
		measured, err := r.command.measureLimit(ctx, s, r.connections, samples, t)
		r.limit = append(r.limit, measured)
		return err
	}
	service := func() error {
		measured, err := r.command.measureService(ctx, s, r.connections, t)
		r.service = append(r.service, measured)
		return err
	}
	if !limitFirst {
		limit, service = service, limit
	}
	// For both at once, so that neither comes right after much writing.
	if err := r.command.stock(ctx, s, timing{2 * t.warm, 2 * t.length}); err != nil {
		return err
	}
	if err := limit(); err != nil {
		return err
	}
	return service()
}
