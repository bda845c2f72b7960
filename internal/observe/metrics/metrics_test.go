package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/metrics"
)

// scrape returns the metrics as Prometheus reads them, a line for each.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantMetrics(t *testing.T, scraped string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(scraped, line+"\n") {
			t.Errorf("no line %q in\n%s", line, scraped)
		}
	}
}

// A series that appears with its first event has no rate for that event.
func TestHandler_ReportsEveryRestartReasonFromTheStart(t *testing.T) {
	t.Parallel()
	scraped := scrape(t, metrics.New(zerolog.Nop()))
	for _, reason := range []string{
		"serialization_failure", "deadlock", "unique_violation", "lock_timeout", "dead_connection", "read_only", "not_joined",
	} {
		wantMetrics(t, scraped, `orders_transactions_restarted_total{reason="`+reason+`"} 0`)
	}
}

// A database that is down costs its own metrics only, and one line in the log.
func TestHandler_SurvivesTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var down error
		m := metrics.New(zerolog.New(&log))
		m.Database(func(context.Context) (metrics.Database, error) { return metrics.Database{}, down })
		lines := 0
		for _, step := range []struct {
			err  error
			up   string
			logs int
		}{
			{nil, "1", 0}, {errors.New("refused"), "0", 1}, {errors.New("refused"), "0", 0}, {nil, "1", 1}, {nil, "1", 0},
		} {
			time.Sleep(time.Minute) // nothing is remembered
			down = step.err
			scraped := scrape(t, m)
			wantMetrics(t, scraped, "orders_database_up "+step.up)
			if !strings.Contains(scraped, "go_goroutines ") {
				t.Errorf("the metrics of the process are missing:\n%s", scraped)
			}
			if present := strings.Contains(scraped, "orders_outbox_"); present != (step.err == nil) {
				t.Errorf("with the error %v the metrics of the outbox are present: %t", step.err, present)
			}
			if lines += step.logs; strings.Count(log.String(), "\n") != lines {
				t.Errorf("want %d lines in the log:\n%s", lines, &log)
			}
		}
	})
}

// Prometheus collects in a goroutine of its own, where a panic would end the process.
func TestHandler_SurvivesAPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := metrics.New(zerolog.New(&log))
	m.Database(func(context.Context) (metrics.Database, error) { panic("no such row") })
	wantMetrics(t, scrape(t, m), "orders_database_up 0")
	if !strings.Contains(log.String(), "panic: no such row") {
		t.Errorf("the log is %s", &log)
	}
}

func TestHandler_SharesOneVisitToTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var visits int64
		entered, answer := make(chan struct{}), make(chan struct{})
		m := metrics.New(zerolog.Nop())
		m.Database(func(context.Context) (metrics.Database, error) {
			visits++
			if visits == 1 {
				close(entered)
				<-answer
			}
			return metrics.Database{OutboxEvents: visits}, nil
		})
		var scrapes sync.WaitGroup
		for range 10 {
			scrapes.Go(func() { wantMetrics(t, scrape(t, m), "orders_outbox_events 1") })
		}
		<-entered
		close(answer)
		scrapes.Wait()
		time.Sleep(time.Minute)
		wantMetrics(t, scrape(t, m), "orders_outbox_events 2")
	})
}

func TestHandler_BoundsTheVisitToTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(zerolog.Nop())
		m.Database(func(ctx context.Context) (metrics.Database, error) {
			<-ctx.Done()
			return metrics.Database{}, ctx.Err()
		})
		start := time.Now()
		wantMetrics(t, scrape(t, m), "orders_database_up 0")
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("the scrape waited for %v, want 2s", waited)
		}
	})
}
