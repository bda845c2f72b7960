package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

const pgbenchReport = `pgbench (15.18 (Debian 15.18-0+deb12u1))
progress: 1.0 s, 4000.0 tps, lat 3.981 ms stddev 2.410, 0 failed
progress: 2.0 s, 6000.0 tps, lat 2.661 ms stddev 1.410, 0 failed
transaction type: -
scaling factor: 1
query mode: prepared
number of clients: 16
number of transactions actually processed: 16000
number of failed transactions: 0 (0.000%)
latency average = 3.0 ms
initial connection time = 12.345 ms
tps = 5333.333333 (without initial connection time)
`

func TestParsePgbench_LeavesOutWarmUp(t *testing.T) {
	t.Parallel()
	for warmUp, wantRate := range map[time.Duration]float64{0: 5333, time.Second: 6000} {
		result, err := parsePgbench(pgbenchReport, warmUp)
		if err != nil {
			t.Fatal(err)
		}
		if result.transactions != 16000 || math.Abs(result.rate-wantRate) > 0.5 {
			t.Errorf("warm-up %v: got %+v, want 16000 transactions, %v per second",
				warmUp, result, wantRate)
		}
	}
}

func TestParsePgbench_RejectsUnusableReports(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]string{
		"failed transaction": strings.Replace(pgbenchReport, "transactions: 0", "transactions: 1", 1),
		"aborted run":        "pgbench: error: client 0 aborted in command 5",
	} {
		if result, err := parsePgbench(report, time.Second); err == nil {
			t.Errorf("%s: got %+v, want an error", name, result)
		}
	}
}
