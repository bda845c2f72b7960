package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// spyOutbox is the real outbox, with faults to order.
type spyOutbox struct {
	outbox.Store
	largest   atomic.Int64 // batch
	failMarks atomic.Int64
	everybody bool // has the lease
}

func (o *spyOutbox) Lease(ctx context.Context, holder string, d time.Duration) (bool, error) {
	if o.everybody {
		return true, nil
	}
	return o.Store.Lease(ctx, holder, d)
}

func (o *spyOutbox) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	events, err := o.Store.Unpublished(ctx, limit)
	o.largest.Store(max(o.largest.Load(), int64(len(events))))
	return events, err
}

func (o *spyOutbox) MarkPublished(ctx context.Context, ids []int64) error {
	if o.failMarks.Add(-1) >= 0 {
		return errors.New("killed before the mark")
	}
	return o.Store.MarkPublished(ctx, ids)
}

// blockingSender stalls in each call until it is let go on, or the test ends.
type blockingSender struct {
	outbox.Publisher
	entered chan struct{}
	resume  chan struct{}
	over    <-chan struct{}
}

func (s *blockingSender) Publish(ctx context.Context, events []outbox.Event) ([]int64, error) {
	select {
	case s.entered <- struct{}{}:
	case <-s.resume:
	case <-s.over:
	}
	select {
	case <-s.resume:
	case <-s.over:
	}
	return s.Publisher.Publish(context.WithoutCancel(ctx), events) // as if it had slept through its deadline
}

func stall(t *testing.T, sender outbox.Publisher) *blockingSender {
	t.Helper()
	return &blockingSender{sender, make(chan struct{}), make(chan struct{}), t.Context().Done()}
}

func TestBrokerThatIsDownLosesNothing(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	conn := connect(t, broker)
	spy := &spyOutbox{Store: db.Outbox()}
	start(t, &outbox.Relay{Store: spy, Publisher: newPublisher(t, conn)})

	writeAll(t, db, 4, 0, 50)
	eventually(t, "events leave", func() bool { return backlog(t, db) < 200 })
	broker.Halt()
	writeAll(t, db, 4, 50, 300)
	eventually(t, "the connection is lost", func() bool { return !conn.IsConnected() })
	if buffered, _ := conn.Buffered(); buffered > 0 {
		t.Errorf("%d bytes wait in memory for the broker", buffered)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, db, 4, 350, 50)
	awaitEmpty(t, db)
	received(t, broker).expect(t, 4, 400)
	if largest := spy.largest.Load(); largest > 500 {
		t.Errorf("%d events in memory", largest)
	}
}

// TestBrokerThatComesAndGoes breaks connections while batches are under way.
func TestBrokerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker))})
	for round := range 4 {
		writeAll(t, db, 20, round*30, 30)
		if err := broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitEmpty(t, db)
	received(t, broker).expect(t, 20, 120)
}

func TestRelayStartsBeforeItsBroker(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	broker.Halt()
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker))})
	write(t, db, "thing/0", 0, 3)
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitEmpty(t, db)
	received(t, broker).expect(t, 1, 3)
}

func TestEventsThatWerePublishedAndNotMarkedArriveOnce(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	spy := &spyOutbox{Store: db.Outbox()}
	spy.failMarks.Store(2)
	writeAll(t, db, 3, 0, 10)
	start(t, &outbox.Relay{Store: spy, Publisher: newPublisher(t, connect(t, broker))})
	awaitEmpty(t, db)
	if left := spy.failMarks.Load(); left >= 0 {
		t.Error("no mark failed")
	}
	received(t, broker).expect(t, 3, 10)
}

// TestTwoRelaysAtOnce has two replicas, first with the lease between them and then with
// none, which is what happens when one stalls and does not know that its lease is over.
func TestTwoRelaysAtOnce(t *testing.T) {
	t.Parallel()
	for name, everybody := range map[string]bool{"one lease": false, "both believe to have it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, broker := pgtest.New(t), natstest.New(t)
			db := openDB(t, url)
			for range 2 {
				replica := openDB(t, url)
				start(t, &outbox.Relay{
					Store:     &spyOutbox{Store: replica.Outbox(), everybody: everybody},
					Publisher: newPublisher(t, connect(t, broker)),
				})
			}
			writeAll(t, db, 10, 0, 100)
			awaitEmpty(t, db)
			received(t, broker).expect(t, 10, 100)
		})
	}
}

func TestLeaseOfAStalledRelayIsTakenOver(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	writeAll(t, db, 3, 0, 20)
	stalled := stall(t, newPublisher(t, connect(t, broker)))
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: stalled, LeaseFor: time.Second})
	<-stalled.entered // it has the lease, and a batch in its hands

	start(t, &outbox.Relay{Store: openDB(t, url).Outbox(), Publisher: newPublisher(t, connect(t, broker)), LeaseFor: time.Second})
	awaitEmpty(t, db)
	writeAll(t, db, 3, 20, 20)
	close(stalled.resume) // it wakes, and sends what it had
	awaitEmpty(t, db)
	received(t, broker).expect(t, 3, 40)
}

func TestRelayThatEndsReleasesItsLease(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	stop := start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker)), LeaseFor: time.Hour})
	write(t, db, "thing/0", 0, 1)
	awaitEmpty(t, db)
	stop()
	start(t, &outbox.Relay{Store: openDB(t, url).Outbox(), Publisher: newPublisher(t, connect(t, broker)), LeaseFor: time.Hour})
	write(t, db, "thing/0", 1, 1)
	awaitEmpty(t, db)
	received(t, broker).expect(t, 1, 2)
}

// TestLowerIDsThatCommitLaterLeave is the trap of every reader that remembers the last id.
func TestLowerIDsThatCommitLaterLeave(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker))})
	slow := begin(t, url, `INSERT INTO outbox (type, aggregate, data, created_at)
		VALUES ('test.happened', 'thing/slow', '{"number": 0}', now())`)
	write(t, db, "thing/fast", 0, 3)
	awaitEmpty(t, db)
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitEmpty(t, db)
	want := arrived{"thing/fast": {0, 1, 2}, "thing/slow": {0}}
	if diff := cmp.Diff(want, received(t, broker)); diff != "" {
		t.Error(diff)
	}
}

func begin(t *testing.T, url, statement string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestNothingIsHeldWhilePublishing looks at the database while the broker does not answer.
func TestNothingIsHeldWhilePublishing(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	write(t, db, "thing/0", 0, 3)
	blocked := stall(t, newPublisher(t, connect(t, broker)))
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: blocked})
	<-blocked.entered

	plain, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for what, query := range map[string]string{
		"connections that are not idle": `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'orders' AND (state <> 'idle' OR xact_start IS NOT NULL)`,
		"locks": `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE a.datname = current_database() AND a.application_name = 'orders'`,
	} {
		var n int
		if err := plain.QueryRow(t.Context(), query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	var rows int
	err = plain.QueryRow(t.Context(), "SELECT count(*) FROM (SELECT FROM outbox FOR UPDATE NOWAIT) o").Scan(&rows)
	if err != nil || rows != 3 {
		t.Errorf("%d rows could be locked, %v", rows, err)
	}
	close(blocked.resume)
	awaitEmpty(t, db)
}

func TestMarksOfAPartAreKept(t *testing.T) {
	t.Parallel()
	db := openDB(t, pgtest.New(t))
	write(t, db, "thing/0", 0, 4)
	var sent [][]int64
	half := partSender{sent: &sent}
	stop := start(t, &outbox.Relay{Store: db.Outbox(), Publisher: half})
	awaitEmpty(t, db)
	stop()
	first := sent[0][0]
	want := [][]int64{{first, first + 1, first + 2, first + 3}, {first + 2, first + 3}, {first + 3}}
	if diff := cmp.Diff(want, sent[:min(3, len(sent))]); diff != "" {
		t.Error(diff)
	}
}

// partSender has half of each batch acknowledged, rounded up, and fails for the rest.
type partSender struct{ sent *[][]int64 }

func (s partSender) Publish(_ context.Context, events []outbox.Event) ([]int64, error) {
	var ids []int64
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	*s.sent = append(*s.sent, slices.Clone(ids))
	acked := ids[:(len(ids)+1)/2]
	if len(acked) == len(ids) {
		return acked, nil
	}
	return acked, errors.New("no more acknowledgements")
}
