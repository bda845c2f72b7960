package bench

import (
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
	memory uint64  // the peak resident memory of the service
}

// setUsage computes the usage per request between two moments.
func (s *sample) setUsage(from, to usage, requests int64) {
	each := func(seconds float64) float64 { return seconds * 1000 / float64(requests) }
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
	rival       []sample // may be empty
}

// lastRates returns the rates of the last round, in words.
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

// measureRound takes one sample on each side. rival may be nil.
func (s *series) measureRound(t, rival *target, times timing, reversed bool) {
	sides := s.sides(t, rival, times)
	if reversed {
		slices.Reverse(sides)
	}
	// Prepares rows for all sides, so that no side runs right after heavy writes.
	s.command.prepareRows(t, timing{
		time.Duration(len(sides)) * times.warmUp, time.Duration(len(sides)) * times.length,
	})
	for _, measure := range sides {
		measure()
	}
}

// sides returns functions that take a sample for the service, the baseline and the
// rival.
func (s *series) sides(t, rival *target, times timing) []func() {
	sides := []func(){func() {
		s.service = append(s.service, s.command.measureService(t, s.connections, times))
	}}
	if s.compared {
		sides = append(sides, func() {
			s.baseline = append(s.baseline, s.command.measureBaseline(t, s.connections, s.probe.payloads, times))
		})
	}
	if rival != nil {
		sides = append(sides, func() {
			s.rival = append(s.rival, s.command.measureService(rival, s.connections, times))
		})
	}
	return sides
}

// measureBaseline takes one sample with pgbench, or with load on the bare server.
func (c command) measureBaseline(
	t *target, connections int, payloads map[string]string, times timing,
) (measured sample) {
	if c.script == "" {
		bare := *t
		bare.service = t.bare
		return c.measureService(&bare, connections, times)
	}
	c.prepareRows(t, times)
	from, err := t.usage(t.t.Context()) // if there is no warm-up, the measurement begins here
	if err != nil {
		t.t.Fatal(err)
	}
	result := c.baseline(t, connections, payloads).run(t, times, func() (err error) {
		from, err = t.usage(t.t.Context())
		return err
	})
	to, err := t.usage(t.t.Context())
	if err != nil {
		t.t.Fatal(err)
	}
	measured.rate = result.rate
	measured.setUsage(from, to, result.transactions)
	c.skipUsed(t)
	return measured
}

// measureService takes one sample with load on the service.
func (c command) measureService(t *target, connections int, times timing) sample {
	c.prepareRows(t, times)
	pid := t.service.cmd.Process.Pid
	if err := resetPeakMemory(pid); err != nil {
		t.t.Fatal(err)
	}
	var marks []usage
	counted, err := c.load(t, connections).run(t.t.Context(), times, func() error {
		u, err := t.usage(t.t.Context())
		marks = append(marks, u)
		return err
	})
	if err != nil {
		t.t.Fatalf("%s with %d connections: %v", c.name, connections, err)
	}
	measured := counted.sample()
	measured.setUsage(marks[0], marks[1], int64(len(counted.latencies)))
	if measured.memory, err = peakMemory(pid); err != nil {
		t.t.Fatal(err)
	}
	return measured
}

// prepareRows inserts the rows that a measurement uses up, or otherwise prepares the
// command.
func (c command) prepareRows(t *target, times timing) {
	switch {
	case c.prepare != nil:
		c.prepare(t)
	case c.supply != nil:
		c.supply(t).prepareFor(times.warmUp + times.length + time.Second)
	}
}

// skipUsed marks the rows that pgbench has used.
func (c command) skipUsed(t *target) {
	if c.skip != nil {
		c.skip(t)
	}
}
