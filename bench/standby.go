package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// startStandby starts a standby of the cluster, which replicates asynchronously until
// replicate changes it. It returns what stops the standby.
func (c *cluster) startStandby(ctx context.Context) (stop func() error, err error) {
	parent := filepath.Join(c.dir, "standby")
	if err := os.Mkdir(parent, 0o755); err != nil {
		return nil, err
	}
	//nolint:gosec // pg_basebackup may run as another user, and makes the directory
	if err := os.Chmod(parent, 0o777); err != nil {
		return nil, err
	}
	data := filepath.Join(parent, "data")
	backup := c.Command(ctx, "pg_basebackup", "--pgdata="+data, "--dbname="+c.URL("postgres"),
		"--write-recovery-conf", "--checkpoint=fast")
	if out, err := backup.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	standby, err := devpostgres.Start(ctx, devpostgres.Config{
		DataDir: data, Settings: durableSettings, Notices: os.Stderr, Port: port,
	})
	if err != nil {
		return nil, err
	}
	stop = func() error {
		c.replayPID = 0
		return errors.Join(standby.Stop(), os.RemoveAll(parent))
	}
	if c.replayPID, err = replayProcess(data); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// replayProcess returns the process of a standby that replays the write-ahead log.
// There is one, whatever the number of cores.
func replayProcess(dataDir string) (int, error) {
	postmaster, err := readPostmasterPID(dataDir)
	if err != nil {
		return 0, err
	}
	for pid := range childrenOf(postmaster) {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // fails if it has ended
		if strings.Contains(string(title), "startup") {
			return pid, nil
		}
	}
	return 0, errors.New("no process of the standby replays the write-ahead log")
}

// replicate lets each COMMIT wait for the standby, or not, and returns when it does.
func (t *target) replicate(ctx context.Context, synchronous bool) error {
	names, state := "", "async"
	if synchronous {
		names, state = "*", "sync"
	}
	err := t.exec(ctx, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`,
		`SELECT pg_reload_conf()`)
	if err != nil {
		return err
	}
	err = await(ctx, func(ctx context.Context) (done bool) {
		err := t.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication
			WHERE state = 'streaming' AND sync_state = $1)`, state).Scan(&done)
		return err == nil && done
	})
	if err != nil {
		return fmt.Errorf("await replication: %w", err)
	}
	// COMMIT waits only after the checkpointer has read the setting, too. It reads it
	// before it starts a checkpoint.
	return t.exec(ctx, `CHECKPOINT`)
}
