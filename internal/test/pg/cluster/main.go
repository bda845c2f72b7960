// Command testcluster starts a PostgreSQL cluster, runs a given command, and stops the
// cluster:
//
//	testcluster go test ./...
//
// The command finds the URL of the cluster in ORDERS_TEST_POSTGRES_URL, and for the kit in
// DATABASE_URL. ORDERS_TEST_POSTGRES_DATA has data to start others with. testcluster exits
// with the exit code of the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	pgtest "example.com/orders/internal/test/pg"
)

// stopTimeout bounds how long an interrupted command may take to end.
const stopTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "testcluster:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("usage: testcluster command [argument...]")
	}
	cluster, err := pgtest.StartShared(ctx)
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopped := cluster.Stop(); stopped != nil {
			code, err = max(code, 1), errors.Join(err, stopped)
		}
	}()
	data, err := pgtest.CopyShared(ctx, cluster)
	if err != nil {
		return 1, err
	}
	url := cluster.URL("postgres")
	return runCommand(ctx, command, pgtest.URLVariable+"="+url, "DATABASE_URL="+url, pgtest.DataVariable+"="+data)
}

// environ returns the command's environment. Its processes live for seconds and need
// not collect garbage as often as by default, which takes a third of their processor
// time.
func environ(cluster []string) []string {
	environ := append(os.Environ(), cluster...)
	if os.Getenv("GOGC") == "" {
		environ = append(environ, "GOGC=400")
	}
	return environ
}

func runCommand(ctx context.Context, command []string, cluster ...string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = environ(cluster)
	// A separate process group lets `go test` and all its test processes end together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	if ctx.Err() != nil {
		return 1, errors.New("interrupted")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
