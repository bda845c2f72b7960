package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

// incarnation returns the name of a database after a process has started on it.
func incarnation(t *testing.T, url string) string {
	t.Helper()
	db := open(t, pgtest.AsService(t, url))
	defer db.Close()
	if err := db.RenewIncarnation(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := db.Pool().QueryRow(t.Context(), "SELECT id::text FROM incarnation").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// All processes find the copy without a name.
func TestIncarnation_OfACopyIsRenewedOnce(t *testing.T) {
	t.Parallel()
	original := pgtest.New(t)
	first := incarnation(t, original)
	restored := pgtest.Copy(t, original)
	names := make(chan string, 4)
	for range cap(names) {
		go func() { names <- incarnation(t, restored) }()
	}
	id := <-names
	for range cap(names) - 1 {
		if other := <-names; other != id {
			t.Errorf("the copy was named %s and %s", id, other)
		}
	}
	if id == first {
		t.Error("the copy kept the name of the original")
	}
	if again := incarnation(t, original); again != first {
		t.Error("the original was renamed")
	}
}

func TestIncarnation_IsRenewedByAPromotion(t *testing.T) {
	t.Parallel()
	server := pgtest.NewCluster(t, nil)
	url := pgtest.NewOn(t, server)
	first := incarnation(t, url)
	standby := filepath.Join(server.DataDir(), "standby.signal")
	if err := os.WriteFile(standby, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id != first {
		t.Error("a standby, which cannot write, has another name than its primary")
	}
	if _, err := open(t, url).Pool().Exec(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id == first {
		t.Error("the promoted database kept the name of its primary")
	}
}
