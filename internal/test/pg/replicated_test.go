package pgtest_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestNewReplicated_CommitWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	servers.SetSynchronous(t, true)
	write(t, servers.URL(), "CREATE TABLE kept AS SELECT 7 AS value")

	servers.StopStandby()
	committed := make(chan error, 1)
	conn := connect(t, servers.URL())
	go func() {
		_, err := conn.Exec(t.Context(), "UPDATE kept SET value = 8")
		committed <- err
	}()
	servers.AwaitCommit(t)
	servers.StartStandby(t)
	if err := <-committed; err != nil {
		t.Errorf("COMMIT failed after the standby was back: %v", err)
	}

	servers.SetSynchronous(t, false)
	servers.StopStandby()
	write(t, servers.URL(), "UPDATE kept SET value = 9")

	servers.Promote(t)
	write(t, servers.URL(), "UPDATE kept SET value = value + 100")
	if got := valueOf(t, servers.URL()); got != 108 {
		t.Errorf("after the failover the value is %d, want 108: only what was synchronous is kept for sure", got)
	}
}

func write(t *testing.T, url, statement string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func valueOf(t *testing.T, url string) (value int) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), "SELECT value FROM kept").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
