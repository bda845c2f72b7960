package main

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var h histogram
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	values := make([]time.Duration, 10_001)
	for i := range values {
		values[i] = time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond))
		h.record(values[i])
	}
	slices.Sort(values)
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 0.999, 1} {
		want := values[int(q*float64(len(values)-1))]
		off := (h.quantile(q) - want).Abs()
		if off > want/60+time.Microsecond {
			t.Errorf("quantile %v = %v, want %v", q, h.quantile(q), want)
		}
	}
}

func TestHistogramAddsUp(t *testing.T) {
	t.Parallel()
	var low, high histogram
	for range 99 {
		low.record(time.Millisecond)
	}
	high.record(time.Second)
	low.add(&high)
	if low.total != 100 || low.quantile(0.5) > 2*time.Millisecond || low.quantile(1) < 900*time.Millisecond {
		t.Errorf("total %d, median %v, highest %v", low.total, low.quantile(0.5), low.quantile(1))
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	t.Parallel()
	last := 0
	for v := range 1_000_000 {
		at := bucketOf(time.Duration(v) * time.Microsecond)
		if at != last && at != last+1 {
			t.Fatalf("%d µs is in bucket %d, the one before in %d", v, at, last)
		}
		last = at
	}
	if at := bucketOf(100 * time.Hour); at != buckets-1 {
		t.Errorf("a value beyond all is in bucket %d", at)
	}
	if at := bucketOf(-time.Second); at != 0 {
		t.Errorf("a clock that was set back is in bucket %d", at)
	}
}

func cellsOf(rates ...float64) []cell {
	cells := make([]cell, len(rates))
	for i, rate := range rates {
		cells[i].rate = rate
	}
	return cells
}

// The machine was half as fast in the second turn: the ratio does not see it.
func TestRatioIsTakenTurnByTurn(t *testing.T) {
	t.Parallel()
	s := series{limit: cellsOf(1000, 500, 1100), service: cellsOf(900, 450, 1100)}
	if got := s.ratio(); got != 0.9 {
		t.Errorf("ratio %v, want 0.9", got)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 1: {1}, 2: {3, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median of %v = %v", values, got)
		}
	}
}

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

func TestPgbenchReport(t *testing.T) {
	t.Parallel()
	r, err := parsePgbench(pgbenchReport, time.Second)
	if err != nil || r.transactions != 16000 || int(r.rate+0.5) != 6000 {
		t.Errorf("got %+v, %v; want 6000 a second after the first", r, err)
	}
	if r, err := parsePgbench(pgbenchReport, 0); err != nil || int(r.rate) != 5333 {
		t.Errorf("got %+v, %v; want what pgbench says", r, err)
	}
	for name, text := range map[string]string{
		"a failed transaction": strings.Replace(pgbenchReport, "transactions: 0", "transactions: 1", 1),
		"an aborted run":       "pgbench: error: client 0 aborted in command 5",
	} {
		if _, err := parsePgbench(text, time.Second); err == nil {
			t.Errorf("%s is taken for a result", name)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	read := func(text string) (reply, error) {
		return (&client{r: bufio.NewReader(strings.NewReader(text))}).read()
	}
	rep, err := read("HTTP/1.1 201 Created\r\nidempotent-replayed: true\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200")
	if err != nil || rep.status != 201 || !rep.replayed || string(rep.body) != "{}" {
		t.Errorf("got %+v, %v", rep, err)
	}
	for _, text := range []string{
		"", "HTTP/1.1 2", "HTTP/1.0 201 Created\r\n\r\n", "HTTP/1.1 201 Created\r\n\r\n",
		"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n{}", "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n",
	} {
		if rep, err := read(text); err == nil {
			t.Errorf("%q is taken for %+v", text, rep)
		}
	}
}

func TestOnlyTheExpectedAnswerCounts(t *testing.T) {
	t.Parallel()
	c := command{status: 201, replayed: true}
	if err := c.check(reply{status: 201, replayed: true}); err != nil {
		t.Error(err)
	}
	for _, rep := range []reply{{status: 201}, {status: 200, replayed: true}, {status: 503, replayed: true}} {
		if c.check(rep) == nil {
			t.Errorf("%+v was let through", rep)
		}
	}
}

func TestDifferentWorkIsFound(t *testing.T) {
	t.Parallel()
	before := map[string]size{"outbox": {0, 0}}
	between := map[string]size{"outbox": {200, 40_000}}
	for name, after := range map[string]size{
		"fewer rows":    {300, 60_000},
		"smaller rows":  {400, 70_000},
		"more of both":  {600, 120_000},
		"larger rows":   {400, 90_000},
		"no difference": {400, 80_000},
	} {
		err := sameWork(before, between, map[string]size{"outbox": after})
		if (err == nil) != (name == "no difference") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStat(t *testing.T) {
	t.Parallel()
	got, err := parseStat([]byte("42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 30 4 20 0 1 0 5"))
	if want := (stat{parent: 7, own: 120, endedChildren: 34}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseStat([]byte("42 (x) S")); err == nil {
		t.Error("a short line is taken for one")
	}
}

func TestSupplyIsTakenOnce(t *testing.T) {
	t.Parallel()
	var filled [][2]int64
	s := &supply{first: 10, fill: func(_ context.Context, from, to int64) error {
		filled = append(filled, [2]int64{from, to})
		return nil
	}}
	if _, err := s.take(); err == nil {
		t.Error("something that was not prepared was taken")
	}
	s.skipTo(10)
	if err := errors.Join(s.stockFor(t.Context(), 5), s.stockFor(t.Context(), 3)); err != nil {
		t.Fatal(err)
	}
	first, _ := s.take()
	second, _ := s.take()
	s.skipTo(14)
	if err := s.stockFor(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	third, err := s.take()
	if got := []int64{first, second, third}; err != nil || !slices.Equal(got, []int64{10, 11, 14}) {
		t.Errorf("took %v, %v", got, err)
	}
	if want := [][2]int64{{10, 15}, {15, 19}}; !slices.Equal(filled, want) {
		t.Errorf("prepared %v, want %v", filled, want)
	}
}

// drawn is a report of two commands, one of which is measured at one point only.
func drawn() []*series {
	at := func(name string, n int, limit, service float64) *series {
		s := &series{command: command{name: name, about: "a < b & c"}, connections: n, limit: cellsOf(limit), service: cellsOf(service)}
		s.service[0].p50, s.service[0].p99 = time.Millisecond, 3*time.Millisecond
		return s
	}
	return []*series{
		at("Credit & more", 1, 1000, 900), at("Credit & more", 16, 5200, 6100), at("Credit & more", 64, 0, 0),
		at("Hot", 16, 700, 600),
	}
}

func TestPictureIsWellFormed(t *testing.T) {
	t.Parallel()
	picture := drawAll(drawn(), []int{1, 16, 64})
	decoder := xml.NewDecoder(strings.NewReader(string(picture)))
	panels := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "g" {
			panels++
		}
	}
	if panels != 2 {
		t.Errorf("%d panels, want 2: one for each side of the only curve", panels)
	}
	for _, odd := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(string(picture), odd) {
			t.Errorf("%s in %s", odd, picture)
		}
	}
}

func TestReportIsATable(t *testing.T) {
	t.Parallel()
	text := textOf("a machine", drawn())
	var columns []int
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			columns = append(columns, strings.Count(line, "|"))
		}
	}
	if len(columns) != 2*2+4 || slices.Min(columns) != slices.Max(columns) {
		t.Errorf("columns %v in:\n%s", columns, text)
	}
	if !strings.Contains(text, "| 16 | 5200 | 6100 | **1.17** |") {
		t.Error(text)
	}
}
