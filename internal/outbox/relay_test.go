package outbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestRelay_KeepsEventsWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	conn, err := nats.Connect(nats.Service, broker.URL(), "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	publisher, err := nats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	store := &faultyStore{Store: db.Outbox()}
	start(t, &outbox.Relay{Store: store, Publisher: publisher})

	writeAll(t, db, 4, 0, 50)
	testwait.Until(t, "the relay publishes", func() bool { return natstest.Unpublished(t, db.Outbox()) < 200 })
	broker.Halt()
	writeAll(t, db, 4, 50, 300)
	testwait.Until(t, "the connection is lost", func() bool { return !conn.IsConnected() })
	if buffered, _ := conn.Buffered(); buffered > 0 {
		t.Errorf("%d bytes wait in memory for the broker, want none", buffered)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, db, 4, 350, 50)

	natstest.AwaitPublished(t, db.Outbox())
	readStream(t, broker).want(t, 4, 400)
	if largest := store.largestBatch.Load(); largest > 500 {
		t.Errorf("a batch had %d events, want 500 at most", largest)
	}
}

func TestRelay_RecreatesADeletedStream(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: natstest.Publisher(t, broker)})
	write(t, db, "thing/0", 0, 1)
	natstest.AwaitPublished(t, db.Outbox())
	if err := natstest.JetStream(t, broker).DeleteStream(t.Context(), nats.Stream); err != nil {
		t.Fatal(err)
	}
	write(t, db, "thing/1", 0, 1)
	natstest.AwaitPublished(t, db.Outbox())
	if diff := cmp.Diff(streamed{"thing/1": {0}}, readStream(t, broker)); diff != "" {
		t.Errorf("events in the new stream (-want +got):\n%s", diff)
	}
}

func TestRelay_PublishesUnderTheSameIDWhenAMarkIsLost(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	store := &faultyStore{Store: db.Outbox()}
	store.failingMarks.Store(2)
	writeAll(t, db, 3, 0, 10)
	start(t, &outbox.Relay{Store: store, Publisher: natstest.Publisher(t, broker)})
	natstest.AwaitPublished(t, db.Outbox())
	if store.failingMarks.Load() >= 0 {
		t.Error("fewer than two marks failed, so this test shows nothing")
	}
	readStream(t, broker).want(t, 3, 10)
}

func TestRelay_MarksWhatWasAcknowledgedBeforeAFailure(t *testing.T) {
	t.Parallel()
	db := openDB(t, pgtest.New(t))
	write(t, db, "thing/0", 0, 4)
	written, err := db.Outbox().Unpublished(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	var batches [][]string
	stop := start(t, &outbox.Relay{Store: db.Outbox(), Publisher: halfPublisher{&batches}})
	natstest.AwaitPublished(t, db.Outbox())
	stop()
	id := func(i int) string { return written[i].ID }
	want := [][]string{{id(0), id(1), id(2), id(3)}, {id(2), id(3)}, {id(3)}}
	if diff := cmp.Diff(want, batches[:min(3, len(batches))]); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// A panic would end the process, and the next relay would meet the same event.
func TestRelay_ContinuesAfterAPanic(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	write(t, db, "thing/0", 0, 4)
	var log bytes.Buffer
	stop := start(t, &outbox.Relay{
		Store: db.Outbox(), Log: zerolog.New(&log),
		Publisher: &panickingPublisher{Publisher: natstest.Publisher(t, broker)},
	})
	natstest.AwaitPublished(t, db.Outbox())
	stop()
	readStream(t, broker).want(t, 1, 4)
	if !strings.Contains(log.String(), "panic: no such event") {
		t.Errorf("the log is %s", &log)
	}
}

func TestRelay_KeepsOrderAcrossReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"one replica has the lease":    false,
		"both believe to have a lease": true, // one stalled and does not know that its lease expired
	}
	for name, freeLease := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, broker := pgtest.New(t), natstest.New(t)
			db := openDB(t, url)
			for range 2 {
				start(t, &outbox.Relay{
					Store:     &faultyStore{Store: openDB(t, url).Outbox(), freeLease: freeLease},
					Publisher: natstest.Publisher(t, broker),
				})
			}
			writeAll(t, db, 10, 0, 100)
			natstest.AwaitPublished(t, db.Outbox())
			readStream(t, broker).want(t, 10, 100)
		})
	}
}

func TestRelay_TakesOverTheLeaseOfAStalledReplica(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	writeAll(t, db, 3, 0, 20)
	stalled := stalling(t, natstest.Publisher(t, broker))
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: stalled, LeaseTTL: time.Second})
	<-stalled.entered // it has the lease and a batch

	start(t, &outbox.Relay{
		Store: openDB(t, url).Outbox(), Publisher: natstest.Publisher(t, broker), LeaseTTL: time.Second,
	})
	natstest.AwaitPublished(t, db.Outbox())
	writeAll(t, db, 3, 20, 20)
	close(stalled.resume) // it publishes its old batch
	natstest.AwaitPublished(t, db.Outbox())
	readStream(t, broker).want(t, 3, 40)
}

func TestRelay_ReleasesItsLeaseWhenItStops(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	stop := start(t, &outbox.Relay{
		Store: db.Outbox(), Publisher: natstest.Publisher(t, broker), LeaseTTL: time.Hour,
	})
	write(t, db, "thing/0", 0, 1)
	natstest.AwaitPublished(t, db.Outbox())
	stop()
	start(t, &outbox.Relay{
		Store: openDB(t, url).Outbox(), Publisher: natstest.Publisher(t, broker), LeaseTTL: time.Hour,
	})
	write(t, db, "thing/0", 1, 1)
	natstest.AwaitPublished(t, db.Outbox())
	readStream(t, broker).want(t, 1, 2)
}

// A relay that remembered the last id it has read would skip the slow event.
func TestRelay_PublishesALowerIDThatCommitsLater(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: natstest.Publisher(t, broker)})
	slow := begin(t, url, `INSERT INTO outbox (type, aggregate, data, created_at)
		VALUES ('test.happened', 'thing/slow', '{"number": 0}', now())`)
	write(t, db, "thing/fast", 0, 3)
	natstest.AwaitPublished(t, db.Outbox())
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	natstest.AwaitPublished(t, db.Outbox())
	want := streamed{"thing/fast": {0, 1, 2}, "thing/slow": {0}}
	if diff := cmp.Diff(want, readStream(t, broker)); diff != "" {
		t.Errorf("events in the stream (-want +got):\n%s", diff)
	}
}

// begin runs a statement in a transaction that stays open.
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

func TestRelay_HoldsNoTransactionOrLockWhilePublishing(t *testing.T) {
	t.Parallel()
	url, broker := pgtest.New(t), natstest.New(t)
	db := openDB(t, url)
	write(t, db, "thing/0", 0, 3)
	stalled := stalling(t, natstest.Publisher(t, broker))
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: stalled})
	<-stalled.entered

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
		testwait.Until(t, "there are no "+what, func() bool { // those of a relay would stay
			var n int
			if err := plain.QueryRow(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
	}
	var rows int
	const lockAll = "SELECT count(*) FROM (SELECT FROM outbox FOR UPDATE NOWAIT) o"
	if err := plain.QueryRow(t.Context(), lockAll).Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows could be locked, err = %v; want 3", rows, err)
	}
	close(stalled.resume)
	natstest.AwaitPublished(t, db.Outbox())
}

// The rows of both databases have the same numbers. The stream must have the events of
// both, and those from before the copy once: both publish them.
func TestRelay_PublishesWhatARestoredDatabaseWrites(t *testing.T) {
	t.Parallel()
	original, broker := pgtest.New(t), natstest.New(t)
	before := startOn(t, original)
	write(t, before, "thing/before", 0, 3)
	before.Close()
	restored := pgtest.Copy(t, original)

	for aggregate, url := range map[string]string{"thing/original": original, "thing/restored": restored} {
		db := startOn(t, url)
		write(t, db, aggregate, 0, 3)
		start(t, &outbox.Relay{Store: db.Outbox(), Publisher: natstest.Publisher(t, broker)})
		natstest.AwaitPublished(t, db.Outbox())
	}

	readStream(t, broker).want(t, 3, 3)
	source := sources(t, broker)
	if source["thing/before"] != source["thing/original"] {
		t.Error("the source changed although the database did not")
	}
	if source["thing/restored"] == source["thing/original"] {
		t.Error("both databases have one source")
	}
}

// startOn opens a database as a process does that starts.
func startOn(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db := openDB(t, url)
	if err := db.RenewIncarnation(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// sources returns the source of the events in the stream, by aggregate.
func sources(t *testing.T, broker *devbroker.Broker) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		var e struct{ Subject, Source string }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		if other := found[e.Subject]; other != "" && other != e.Source {
			t.Errorf("%s: events of %s and of %s", e.Subject, other, e.Source)
		}
		found[e.Subject] = e.Source
	}
	return found
}

// What a leader has stored and nobody has marked is published again, through its successor.
func TestRelay_PublishesOnceWhileTheStreamLosesItsLeaders(t *testing.T) {
	t.Parallel()
	const aggregates, events, leaders = 10, 200, 2
	db, broker := openDB(t, pgtest.New(t)), natstest.NewCluster(t)
	js, publisher := natstest.JetStream(t, broker), natstest.Publisher(t, broker)
	publisher.Replicas = 3
	store := &faultyStore{Store: db.Outbox()}
	start(t, &outbox.Relay{Store: store, Publisher: publisher})
	writeAll(t, db, aggregates, 0, 1)
	for round := range leaders {
		natstest.AwaitPublished(t, db.Outbox())
		leader := broker.Leader(t, js, nats.Stream)
		store.failingMarks.Store(math.MaxInt64)
		var flow sync.WaitGroup
		flow.Go(func() { writeAll(t, db, aggregates, 1+round*events, events) })
		testwait.Until(t, "an event is published and not marked", func() bool {
			return store.failingMarks.Load() < math.MaxInt64
		})
		leader.Halt()
		store.failingMarks.Store(0)
		flow.Wait()
		natstest.AwaitPublished(t, db.Outbox())
		if err := leader.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	readStream(t, broker).want(t, aggregates, 1+leaders*events)
}
