package outbox_test

import (
	"encoding/json"
	"testing"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

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
