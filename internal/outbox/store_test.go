package outbox_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// lease asks for the lease and fails the test if the answer is not the one expected.
func lease(t *testing.T, o *postgres.Outbox, holder string, d time.Duration, want bool) {
	t.Helper()
	if got, err := o.Lease(t.Context(), holder, d); err != nil || got != want {
		t.Errorf("lease for %s: %t, %v", holder, got, err)
	}
}

func TestLeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	one, two := openDB(t, url).Outbox(), openDB(t, url).Outbox()
	lease(t, one, "one", time.Hour, true)
	lease(t, two, "two", time.Hour, false)
	lease(t, one, "one", time.Hour, true)
	if err := two.Release(t.Context(), "two"); err != nil { // which is not its to release
		t.Fatal(err)
	}
	lease(t, two, "two", time.Hour, false)
	if err := one.Release(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	lease(t, two, "two", 50*time.Millisecond, true)
	eventually(t, "the lease ends by itself", func() bool {
		mine, err := one.Lease(t.Context(), "one", time.Hour)
		return mine && err == nil
	})
	lease(t, two, "two", time.Hour, false)
}

func TestLeaseIsNotSharedInARace(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	answers := make(chan bool)
	const racers = 4
	for i := range racers {
		outbox := openDB(t, url).Outbox()
		go func() {
			mine, err := outbox.Lease(t.Context(), string(rune('a'+i)), time.Hour)
			answers <- mine && err == nil
		}()
	}
	holders := 0
	for range racers {
		if <-answers {
			holders++
		}
	}
	if holders != 1 {
		t.Errorf("%d holders", holders)
	}
}

func TestPublishedEventsAreDeletedWhenTheyAreOld(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := openDB(t, url)
	write(t, db, "thing/0", 0, 10)
	events, err := db.Outbox().Unpublished(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	if err := db.Outbox().MarkPublished(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	execute(t, url, "UPDATE outbox SET published_at = published_at - interval '2 days' WHERE id < "+
		"(SELECT id FROM outbox ORDER BY id OFFSET 3 LIMIT 1)")
	for _, want := range []int{2, 1, 0} { // three are old enough, at most two at a time
		got, err := db.Outbox().DeletePublished(t.Context(), 24*time.Hour, 2)
		if err != nil || got != want {
			t.Errorf("deleted %d, want %d, %v", got, want, err)
		}
	}
	if got, err := db.Outbox().DeletePublished(t.Context(), 0, 100); err != nil || got != 2 {
		t.Errorf("deleted %d of those just published, %v", got, err)
	}
	if left := backlog(t, db); left != 5 {
		t.Errorf("%d unpublished events are left", left)
	}
}

func TestBacklogTellsCountAndAge(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := openDB(t, url)
	if events, oldest, err := db.Outbox().Backlog(t.Context()); err != nil || events != 0 || oldest != 0 {
		t.Errorf("empty: %d, %v, %v", events, oldest, err)
	}
	write(t, db, "thing/0", 0, 2)
	execute(t, url, "UPDATE outbox SET created_at = created_at - interval '1 hour'")
	events, oldest, err := db.Outbox().Backlog(t.Context())
	if err != nil || events != 2 || oldest < time.Hour || oldest > time.Hour+testwait.Patience {
		t.Errorf("%d, %v, %v", events, oldest, err)
	}
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // the statement has committed
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
