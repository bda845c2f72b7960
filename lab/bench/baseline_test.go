package bench

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
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
	for warmUp, want := range map[time.Duration]pgbenchResult{
		0: {16000, 5333}, time.Second: {12000, 6000},
	} {
		got, err := parsePgbench(pgbenchReport, warmUp)
		if err != nil {
			t.Fatal(err)
		}
		if got.transactions != want.transactions || math.Abs(got.rate-want.rate) > 0.5 {
			t.Errorf("warm-up %v: got %+v, want %+v", warmUp, got, want)
		}
	}
}

func TestPgbenchOutput_MarksTheEndOfTheWarmUpOnce(t *testing.T) {
	t.Parallel()
	const first, rest = "progress: 0.7 s, 1 tps\n", "progress: 1.7 s, 1 tps\nprogress: 2.7 s, 1 tps\ntps = 1\n"
	for warmUp, want := range map[time.Duration][]int{
		time.Second: {1, 1}, 2 * time.Second: {0, 1}, 5 * time.Second: {0, 0},
	} {
		marks := 0
		out := &pgbenchOutput{timing: timing{warmUp: warmUp}, connected: make(chan struct{}), mark: func() error { marks++; return nil }}
		var got []int
		for _, text := range []string{first, rest} {
			if _, err := out.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			got = append(got, marks)
		}
		if !slices.Equal(got, want) || out.text.String() != first+rest {
			t.Errorf("warm-up %v: marks %v, want %v; text %q", warmUp, got, want, &out.text)
		}
	}
}

// slowBaseline returns a baseline of five clients that connect one after the other, each in
// more than a second.
func slowBaseline(t *testing.T) (baseline, *target) {
	t.Helper()
	cluster := pgtest.NewCluster(t, nil)
	env := &e2e.Env{DatabaseURL: cluster.URL("postgres")}
	env.Connect(t)
	env.DatabaseURL = e2e.WithParameter(t, env.DatabaseURL, "options", "-c post_auth_delay=1")
	return baseline{name: "slow", script: []byte("SELECT 1;"), connections: 5}, &target{Env: env, t: t, cluster: cluster}
}

func TestBaseline_MeasuresFromTheLastConnection(t *testing.T) {
	t.Parallel()
	b, target := slowBaseline(t)
	marks := 0

	result := b.run(target, timing{time.Second, time.Second}, func() error { marks++; return nil })

	if marks != 1 || result.transactions == 0 {
		t.Errorf("%d marks, %+v", marks, result)
	}
}

func TestPgbenchOutput_NamesMissingConnections(t *testing.T) {
	t.Parallel()
	b, target := slowBaseline(t)
	cmd := target.cluster.Command(t.Context(), "pgbench", append(b.args(), "-T", "600", "-P", "1", target.DatabaseURL)...)
	cmd.Stdin = bytes.NewReader(b.script)
	out := &pgbenchOutput{connected: make(chan struct{})}

	err := out.collect(cmd, 0, func() string { return "2 of 5" })

	if err == nil || !strings.Contains(err.Error(), "after 0s, 2 of 5 clients are connected") {
		t.Errorf("err = %v, want one that names the missing clients", err)
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
