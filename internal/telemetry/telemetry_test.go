package telemetry_test

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

	"example.com/orders/internal/telemetry"
)

// scrape returns the metrics as Prometheus reads them, a line for each.
func scrape(t *testing.T, m *telemetry.Metrics) string {
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

func TestHandler_ReportsTheDatabase(t *testing.T) {
	t.Parallel()
	m := telemetry.New(zerolog.Nop())
	m.Database(func(context.Context) (telemetry.Database, error) {
		return telemetry.Database{
			OutboxEvents: 7, OutboxOldest: 1500 * time.Millisecond, Mismatches: 3, ReconciliationAge: time.Hour,
			ExcessPrivileges: 2,
		}, nil
	})
	wantMetrics(t, scrape(t, m), "orders_database_up 1", "orders_outbox_events 7", "orders_outbox_oldest_seconds 1.5",
		"orders_reconciliation_mismatches 3", "orders_reconciliation_age_seconds 3600",
		"orders_database_excess_privileges 2")
}

func TestHandler_ReportsGroupsOfCommands(t *testing.T) {
	t.Parallel()
	m := telemetry.New(zerolog.Nop())
	m.GroupRan(3)
	m.GroupRan(64)
	m.GroupSplit()
	m.CommandQueued(2 * time.Millisecond)
	wantMetrics(t, scrape(t, m), "orders_command_group_size_count 2", "orders_command_group_size_sum 67",
		`orders_command_group_size_bucket{le="4"} 1`, "orders_command_groups_split_total 1",
		"orders_command_queue_seconds_count 1", `orders_command_queue_seconds_bucket{le="0.0025"} 1`)
}

// A database that is down costs its own metrics only, and one line in the log.
func TestHandler_SurvivesTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var down error
		m := telemetry.New(zerolog.New(&log))
		m.Database(func(context.Context) (telemetry.Database, error) { return telemetry.Database{}, down })
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
	m := telemetry.New(zerolog.New(&log))
	m.Database(func(context.Context) (telemetry.Database, error) { panic("no such row") })
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
		m := telemetry.New(zerolog.Nop())
		m.Database(func(context.Context) (telemetry.Database, error) {
			visits++
			if visits == 1 {
				close(entered)
				<-answer
			}
			return telemetry.Database{OutboxEvents: visits}, nil
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
		m := telemetry.New(zerolog.Nop())
		m.Database(func(ctx context.Context) (telemetry.Database, error) {
			<-ctx.Done()
			return telemetry.Database{}, ctx.Err()
		})
		start := time.Now()
		wantMetrics(t, scrape(t, m), "orders_database_up 0")
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("the scrape waited for %v, want 2s", waited)
		}
	})
}
