package migrations_test

import (
	"context"
	"errors"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

// The grant is visible only when the standby has it, although its process has gone.
func TestGrant_InterruptedCommitIsNotCancelled(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	url := servers.PrimaryURL()
	execute(t, url, "CREATE ROLE interrupted")
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	granted := make(chan error, 1)
	go func() { granted <- migrations.Grant(ctx, url, "interrupted") }()
	waiting := servers.AwaitCommit(t)

	interrupt()

	if err := <-granted; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want that it was interrupted", err)
	}
	const privileges = "SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = 'interrupted'"
	if n := count(t, url, privileges); n != 0 {
		t.Errorf("%d privileges, which the standby does not have, are visible", n)
	}
	if pid := servers.AwaitCommit(t); pid != waiting {
		t.Errorf("process %d waits for the standby, want %d", pid, waiting)
	}
	servers.StartStandby(t)
	testwait.Until(t, "the privileges are visible", func() bool { return count(t, url, privileges) > 0 })
}
