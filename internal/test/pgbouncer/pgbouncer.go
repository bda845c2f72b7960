// Package pgbouncertest starts pgbouncer, in transaction mode, in front of a test's
// database.
package pgbouncertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

// debianPath is where the Debian package installs the program, which is not in every
// PATH.
const debianPath = "/usr/sbin/pgbouncer"

// configuration has no parameter that the service needs, because poolers must accept
// the service's settings unchanged. The arguments are the server's host, port and user,
// the port to listen on, and the number of server connections.
const configuration = `[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 200
`

// Start starts pgbouncer with that many server connections and returns the database URL
// through it. It skips the test where pgbouncer cannot be installed.
func Start(t testing.TB, databaseURL string, connections int) (pooledURL string) {
	t.Helper()
	program, err := findOrInstall(t.Context())
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "NOT TESTED: %s needs pgbouncer: %v\n", t.Name(), err)
		t.Skip(err)
	}
	server, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	port := testport.Free(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, configure(t, server, port, connections))
	cmd.Dir = "/" // its user may be unable to enter the current directory
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential(t, server.Host)}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error is that it was killed
		if t.Failed() {
			t.Logf("the log of pgbouncer:\n%s", log.String())
		}
	})
	pooled := url.URL{
		Scheme: "postgres", User: url.User(server.User), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path: "/" + server.Database, RawQuery: "sslmode=disable",
	}
	testwait.Until(t, "pgbouncer accepts connections", func() bool {
		conn, err := pgx.Connect(t.Context(), pooled.String())
		return err == nil && conn.Close(t.Context()) == nil
	})
	return pooled.String()
}

func configure(t testing.TB, server *pgx.ConnConfig, port, connections int) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "orders-pgbouncer-") //nolint:usetesting // its parents are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a file left in the temporary directory does no harm
	path = filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(configuration, server.Host, strconv.Itoa(int(server.Port)), server.User, port, connections)
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	return path
}

// credential returns the user for pgbouncer, which refuses to run as root: the owner of
// the server's socket, who alone can open it, or the user nobody. It returns nil unless
// this process is root's.
func credential(t testing.TB, host string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	if info, err := os.Stat(host); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			return &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
		}
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(nobody.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// findOrInstall returns the program. It installs the Debian package, which may start
// a second pgbouncer, with a separate port and files.
func findOrInstall(ctx context.Context) (program string, err error) {
	if program, err := find(); err == nil {
		return program, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", errors.New("install it (Debian: sudo apt-get install pgbouncer) and put it in PATH")
	}
	_, _ = fmt.Fprintln(os.Stderr, "pgbouncer is not installed: running apt-get install -y pgbouncer")
	if err := devpostgres.AptInstall(ctx, os.Stderr, "pgbouncer"); err != nil {
		return "", err
	}
	return find()
}

func find() (string, error) {
	if program, err := exec.LookPath("pgbouncer"); err == nil {
		return program, nil
	}
	return exec.LookPath(debianPath)
}
