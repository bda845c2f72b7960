package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func openDB(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url), MaxConns: 4}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// start runs a relay until the test ends or stop is called.
func start(t *testing.T, relay *outbox.Relay) (stop func()) {
	t.Helper()
	return natstest.Run(t, relay.Run)
}

// write adds n events of an aggregate to the outbox, each in a transaction of its own.
// The events carry numbers that count up from the first.
func write(t *testing.T, db *postgres.DB, aggregate string, first, n int) {
	t.Helper()
	for number := first; number < first+n; number++ {
		err := db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			return tx.Outbox.Add(ctx, core.Event{
				Type: "test.happened", Aggregate: aggregate, Data: order.EventData{Version: number},
			})
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// writeAll adds n events to each of several aggregates, concurrently.
func writeAll(t *testing.T, db *postgres.DB, aggregates, first, n int) {
	t.Helper()
	var writers sync.WaitGroup
	for i := range aggregates {
		writers.Go(func() { write(t, db, fmt.Sprint("thing/", i), first, n) })
	}
	writers.Wait()
}

// streamed holds the numbers that arrived in the stream, by aggregate.
type streamed map[string][]int

// readStream reads the stream from its beginning. It fails the test if an id is in the
// stream twice, or if the numbers of an aggregate are not 0, 1, 2 … in this order.
func readStream(t *testing.T, broker natstest.Address) streamed {
	t.Helper()
	got, ids := streamed{}, map[string]bool{}
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		var e struct {
			ID      string
			Subject string
			Data    struct{ Version int }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		if ids[e.ID] {
			t.Errorf("event %s is in the stream twice", e.ID)
		}
		ids[e.ID] = true
		if want := len(got[e.Subject]); e.Data.Version != want {
			t.Errorf("%s: event %d arrived at position %d", e.Subject, e.Data.Version, want)
		}
		got[e.Subject] = append(got[e.Subject], e.Data.Version)
	}
	return got
}

// want checks that n events arrived of each of so many aggregates.
func (s streamed) want(t *testing.T, aggregates, n int) {
	t.Helper()
	if len(s) != aggregates {
		t.Errorf("events of %d aggregates arrived, want %d", len(s), aggregates)
	}
	for aggregate, numbers := range s {
		if len(numbers) != n {
			t.Errorf("%s: %d events arrived, want %d", aggregate, len(numbers), n)
		}
	}
}

// faultyStore is the outbox in PostgreSQL with faults that a test chooses.
type faultyStore struct {
	outbox.Store
	largestBatch atomic.Int64
	failingMarks atomic.Int64 // how many calls of MarkPublished fail
	freeLease    bool         // every relay gets the lease
}

func (s *faultyStore) Lease(ctx context.Context, holder string, d time.Duration) (bool, error) {
	if s.freeLease {
		return true, nil
	}
	return s.Store.Lease(ctx, holder, d)
}

func (s *faultyStore) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	events, err := s.Store.Unpublished(ctx, limit)
	s.largestBatch.Store(max(s.largestBatch.Load(), int64(len(events))))
	return events, err
}

func (s *faultyStore) MarkPublished(ctx context.Context, ids []string) error {
	if s.failingMarks.Add(-1) >= 0 {
		return errors.New("killed before the mark")
	}
	return s.Store.MarkPublished(ctx, ids)
}

// stallingPublisher stops in each call of Publish until the test closes resume, or
// ends. It publishes then even if its deadline is over, as a process does that was
// suspended.
type stallingPublisher struct {
	outbox.Publisher
	entered chan struct{} // receives when a call has begun
	resume  chan struct{}
	over    <-chan struct{}
}

func stalling(t *testing.T, publisher outbox.Publisher) *stallingPublisher {
	t.Helper()
	return &stallingPublisher{publisher, make(chan struct{}), make(chan struct{}), t.Context().Done()}
}

func (p *stallingPublisher) Publish(ctx context.Context, events []outbox.Event) ([]string, error) {
	select {
	case p.entered <- struct{}{}:
	case <-p.resume:
	case <-p.over:
	}
	select {
	case <-p.resume:
	case <-p.over:
	}
	return p.Publisher.Publish(context.WithoutCancel(ctx), events)
}

// panickingPublisher panics the first time.
type panickingPublisher struct {
	outbox.Publisher
	panicked bool
}

func (p *panickingPublisher) Publish(ctx context.Context, events []outbox.Event) ([]string, error) {
	if !p.panicked {
		p.panicked = true
		panic("no such event")
	}
	return p.Publisher.Publish(ctx, events)
}

// halfPublisher acknowledges the first half of each batch, rounded up, and fails for
// the other. It records the ids of each batch.
type halfPublisher struct{ batches *[][]string }

func (p halfPublisher) Publish(ctx context.Context, events []outbox.Event) ([]string, error) {
	ids, err := outbox.External{}.Publish(ctx, events)
	*p.batches = append(*p.batches, ids)
	if len(ids) > 1 {
		err = errors.New("no more acknowledgements")
	}
	return ids[:(len(ids)+1)/2], err
}
