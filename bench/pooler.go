package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// poolerConfig configures pgbouncer. The arguments are the port of the server, the
// role, the port to listen on, and the connections to the server.
const poolerConfig = `[databases]
* = host=127.0.0.1 port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 400
`

// startPooler starts pgbouncer in front of a database, with that many connections to
// the server. It returns what stops it.
func (c *cluster) startPooler(
	ctx context.Context, databaseURL string, connections int,
) (stop func() error, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(c.dir, "pgbouncer.ini")
	text := fmt.Sprintf(poolerConfig, u.Port(), serviceRole, port, connections)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	args := []string{file}
	if os.Geteuid() == 0 { // which pgbouncer refuses
		args = append(args, "--user=nobody")
	}
	cmd := exec.CommandContext(ctx, "pgbouncer", args...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // the error is that it was killed
		return err
	}
	u.Host = "127.0.0.1:" + strconv.Itoa(port)
	c.pooledURL = u.String()
	err = await(ctx, func(ctx context.Context) bool {
		conn, err := pgx.Connect(ctx, c.pooledURL)
		return err == nil && conn.Close(ctx) == nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start pgbouncer: %w", err), stop())
	}
	return stop, nil
}
