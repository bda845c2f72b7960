package checks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

const (
	// lookPause is the time between two looks, and lookLimit bounds one.
	lookPause = 200 * time.Millisecond
	lookLimit = 2 * time.Second
	// looks counts answered looks.
	looks = "looks at what must always hold"
)

// watcher checks conditions that must always hold, even during faults. Its first report
// ends the test's waits: a run with a broken service need not wait for the impossible.
type watcher struct {
	*clients.Load
	events *world.EventReader
	stored map[string]bool // event ids read so far
}

// watch looks until stop is called.
func watch(l *clients.Load) (stop func()) {
	w := &watcher{Load: l, events: l.NewEventReader(l.T), stored: map[string]bool{}}
	ctx, cancel := context.WithCancel(l.T.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil && !w.T.Failed() {
			w.look(ctx)
			time.Sleep(lookPause)
		}
	})
	stop = func() {
		cancel()
		watching.Wait()
	}
	l.T.Cleanup(stop) // a strike may have ended the test
	return stop
}

// look reports violations. A source that cannot answer now does so at a later look.
func (w *watcher) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for promise, find := range map[string]func(context.Context) ([]string, error){
		"each intent has a job (I8)":                    w.lostIntents,
		"an event is marked when it is published (I6)":  w.markedTooEarly,
		"a payment has one intent at the provider (I7)": w.askedTwice,
	} {
		found, err := find(ctx)
		if err != nil {
			continue
		}
		w.Counters.Add(looks, 1)
		for _, contradiction := range found {
			w.T.Errorf("%s, but: %s", promise, contradiction)
		}
	}
}

// lostIntents returns payments and refunds without a job.
func (w *watcher) lostIntents(ctx context.Context) ([]string, error) {
	rows, _ := w.DB.Query(ctx, lostIntents) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// markedTooEarly returns events that are marked as published but not in the stream.
func (w *watcher) markedTooEarly(ctx context.Context) ([]string, error) {
	rows, _ := w.DB.Query(ctx, `SELECT event_id::text FROM outbox WHERE published_at IS NOT NULL`) // as above
	marked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	read, err := w.events.Read(ctx)
	for _, id := range read {
		w.stored[id] = true
	}
	if err != nil {
		return nil, err
	}
	var early []string
	for _, id := range marked {
		if !w.stored[id] {
			early = append(early, id)
		}
	}
	return early, nil
}

// askedTwice returns payments with more than one intent at the provider. Undecided ones
// count because both may capture.
func (w *watcher) askedTwice(ctx context.Context) ([]string, error) {
	intents, err := w.Provider.Intents(ctx)
	var twice []string
	for payment, n := range intents {
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s has %d", payment, n))
		}
	}
	return twice, err
}
