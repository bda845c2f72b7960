package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// sample is one measurement on one side. "Service" also stands for the rival.
type sample struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	// CPU time in seconds per 1 000 requests.
	cpuService, cpuPostgres, cpuLoad float64

	wal    float64 // bytes in the write-ahead log per request
	memory int64   // the service's peak resident memory
}

// setUsage computes the usage per request between two moments.
func (s *sample) setUsage(from, to usage, requests int64) {
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(requests) }
	s.cpuService = each(to.service - from.service)
	s.cpuPostgres = each(to.postgres - from.postgres)
	s.cpuLoad = each(to.load - from.load)
	s.wal = float64(to.wal-from.wal) / float64(requests)
}

// series is one command's samples with one number of connections. Samples with the same
// index belong to the same round.
type series struct {
	command     command
	connections int
	probe       probe
	compared    bool // with the baseline
	baseline    []sample
	service     []sample
	rival       []sample // empty without one
}

// lastRates returns the last round's rates, in words.
func (s *series) lastRates() string {
	last := func(samples []sample) float64 { return samples[len(samples)-1].rate }
	text := fmt.Sprintf("service %.0f/s", last(s.service))
	if s.compared {
		text += fmt.Sprintf(", baseline %.0f/s, ratio %.2f", last(s.baseline), last(s.service)/last(s.baseline))
	}
	if len(s.rival) > 0 {
		text += fmt.Sprintf(", rival %.0f/s", last(s.rival))
	}
	return text
}

func (s *series) ratio() float64 { return medianRatio(s.service, s.baseline, rateOf) }

// medianRatio returns the median ratio between two samples in one round. Variation
// between rounds, such as the machine's speed, cancels out.
func medianRatio(a, b []sample, figure func(sample) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = figure(a[i]) / figure(b[i])
	}
	return median(ratios)
}

// medianOf returns the median figure.
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

// measureRound takes one sample on each side. rival is nil without one.
func (s *series) measureRound(
	ctx context.Context, t, rival *target, times timing, reversed bool,
) error {
	sides := s.sides(ctx, t, rival, times)
	if reversed {
		slices.Reverse(sides)
	}
	// Prepares rows for all sides, so that none runs right after heavy writes.
	all := timing{
		time.Duration(len(sides)) * times.warmUp, time.Duration(len(sides)) * times.length,
	}
	if err := s.command.prepareRows(ctx, t, all); err != nil {
		return err
	}
	for _, measure := range sides {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// sides returns functions that take a sample for the baseline, the service and the
// rival.
func (s *series) sides(ctx context.Context, t, rival *target, times timing) []func() error {
	serviceOf := func(t *target, samples *[]sample) func() error {
		return func() error {
			measured, err := s.command.measureService(ctx, t, s.connections, times)
			*samples = append(*samples, measured)
			return err
		}
	}
	sides := []func() error{serviceOf(t, &s.service)}
	if s.compared {
		sides = append(sides, func() error {
			measured, err := s.command.measureBaseline(ctx, t, s.connections, s.probe.payloads, times)
			s.baseline = append(s.baseline, measured)
			return err
		})
	}
	if rival != nil {
		sides = append(sides, serviceOf(rival, &s.rival))
	}
	return sides
}

// measureBaseline takes one sample with pgbench.
func (c command) measureBaseline(
	ctx context.Context, t *target, connections int, payloads map[string]string, times timing,
) (sample, error) {
	if err := c.prepareRows(ctx, t, times); err != nil {
		return sample{}, err
	}
	from, err := t.usage(ctx) // without a warm-up, the measurement begins here
	if err != nil {
		return sample{}, err
	}
	mark := func() error {
		from, err = t.usage(ctx)
		return err
	}
	result, err := c.baseline(t, connections, payloads).run(ctx, t.cluster, t.database, times, mark)
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
	if err := c.prepareRows(ctx, t, times); err != nil {
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
	measured.setUsage(marks[0], marks[1], int64(len(counted.latencies)))
	measured.memory, err = peakMemory(pid)
	return measured, err
}

// prepareRows inserts the rows that a measurement uses up, or otherwise prepares the
// command.
func (c command) prepareRows(ctx context.Context, t *target, times timing) error {
	if c.prepare != nil {
		return c.prepare(ctx, t)
	}
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
