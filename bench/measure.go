package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// sample is one measurement of one side.
type sample struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	// CPU time in seconds per 1 000 requests.
	cpuService, cpuPostgres, cpuLoad float64
	wal                              float64 // bytes of write-ahead log per request
	memory                           int64   // peak resident memory of the service
}

// setUsage computes what each request used between two moments.
func (s *sample) setUsage(from, to usage, requests int64) {
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(requests) }
	s.cpuService = each(to.service - from.service)
	s.cpuPostgres = each(to.postgres - from.postgres)
	s.cpuLoad = each(to.load - from.load)
	s.wal = float64(to.wal-from.wal) / float64(requests)
}

// series is all samples of one command at one number of connections. Samples with the
// same index belong to the same round.
type series struct {
	command     command
	connections int
	trips       int
	baseline    []sample
	service     []sample
}

func (s *series) ratio() float64 { return medianRatio(s.service, s.baseline, rateOf) }

// medianRatio returns the median of the ratios of one figure of each round. What changes
// between rounds, such as the speed of the machine, cancels out.
func medianRatio(a, b []sample, figure func(sample) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = figure(a[i]) / figure(b[i])
	}
	return median(ratios)
}

// medianOf returns the median of one figure of the samples.
func medianOf(samples []sample, figure func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = figure(s)
	}
	return median(values)
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

// measureRound takes one sample of each side. The payloads are for pgbench to write.
func (s *series) measureRound(
	ctx context.Context, t *target, payloads map[string]string, times timing, baselineFirst bool,
) error {
	first := func() error {
		measured, err := s.command.measureBaseline(ctx, t, s.connections, payloads, times)
		s.baseline = append(s.baseline, measured)
		return err
	}
	second := func() error {
		measured, err := s.command.measureService(ctx, t, s.connections, times)
		s.service = append(s.service, measured)
		return err
	}
	if !baselineFirst {
		first, second = second, first
	}
	// Prepares rows for both sides, so that neither runs right after heavy writes.
	both := timing{2 * times.warmUp, 2 * times.length}
	if err := s.command.prepareSupply(ctx, t, both); err != nil {
		return err
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// measureBaseline takes one sample with pgbench.
func (c command) measureBaseline(
	ctx context.Context, t *target, connections int, payloads map[string]string, times timing,
) (sample, error) {
	if err := c.prepareSupply(ctx, t, times); err != nil {
		return sample{}, err
	}
	from, err := t.usage(ctx)
	if err != nil {
		return sample{}, err
	}
	result, err := c.baseline(t, connections, payloads).run(ctx, t.cluster, t.database, times)
	if err != nil {
		return sample{}, err
	}
	to, err := t.usage(ctx)
	if err != nil {
		return sample{}, err
	}
	measured := sample{rate: result.rate}
	measured.setUsage(from, to, result.transactions)
	return measured, c.skipUsed(ctx, t)
}

// measureService takes one sample with load on the service.
func (c command) measureService(
	ctx context.Context, t *target, connections int, times timing,
) (sample, error) {
	if err := c.prepareSupply(ctx, t, times); err != nil {
		return sample{}, err
	}
	pid := t.service.cmd.Process.Pid
	if err := resetPeakMemory(pid); err != nil {
		return sample{}, err
	}
	var marks []usage
	counted, err := c.load(t, connections).run(ctx, times, func() error {
		u, err := t.usage(ctx)
		marks = append(marks, u)
		return err
	})
	if err != nil {
		return sample{}, fmt.Errorf("%s with %d connections: %w", c.name, connections, err)
	}
	measured := counted.sample()
	measured.setUsage(marks[0], marks[1], counted.requests)
	measured.memory, err = peakMemory(pid)
	return measured, err
}

// prepareSupply inserts the rows that a measurement uses up.
func (c command) prepareSupply(ctx context.Context, t *target, times timing) error {
	if c.supply == nil {
		return nil
	}
	return c.supply(t).prepareFor(ctx, times.warmUp+times.length+time.Second)
}

// skipUsed marks the rows that pgbench has used.
func (c command) skipUsed(ctx context.Context, t *target) error {
	if c.skip == nil {
		return nil
	}
	return c.skip(ctx, t)
}
