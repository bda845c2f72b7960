package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// debianDropIn configures Debian's postgresql-common: whether installing a server
// creates and starts a cluster.
const debianDropIn = "/etc/postgresql-common/createcluster.d/orders-no-main-cluster.conf"

// aptInterval is the time between two notices about a running installation.
const aptInterval = 4 * time.Second

// install installs the Debian package, without the cluster that it would create and start
// on port 5432.
func install(ctx context.Context, notices io.Writer) (err error) {
	_, _ = fmt.Fprintln(notices, "PostgreSQL is not installed: running apt-get install -y postgresql")
	if err := os.MkdirAll(filepath.Dir(debianDropIn), 0o755); err != nil {
		return fmt.Errorf("install postgresql: %w", err)
	}
	if err := os.WriteFile(debianDropIn, []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return fmt.Errorf("install postgresql: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(debianDropIn)) }()
	return AptInstall(ctx, notices, "postgresql")
}

// AptInstall installs a Debian package. Every few seconds, the last line of apt-get
// appears on notices.
func AptInstall(ctx context.Context, notices io.Writer, name string) error {
	if aptGet(ctx, notices, "install", "-y", name) == nil {
		return nil
	}
	// The package lists may be missing or out of date.
	if err := aptGet(ctx, notices, "update"); err != nil {
		return err
	}
	return aptGet(ctx, notices, "install", "-y", name)
}

func aptGet(ctx context.Context, notices io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	ticker := time.NewTicker(aptInterval)
	defer ticker.Stop()
	if out, err := follow(cmd, notices, ticker.C); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// follow runs a command, prints the last output line at each tick, and returns the end of the
// output.
func follow(cmd *exec.Cmd, notices io.Writer, ticks <-chan time.Time) (string, error) {
	output := &tail{next: io.Discard}
	cmd.Stdout, cmd.Stderr = output, output
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	for {
		select {
		case err := <-ended:
			return output.text(), err
		case <-ticks:
			lines := strings.Split(output.text(), "\n")
			_, _ = fmt.Fprintln(notices, lines[len(lines)-1])
		}
	}
}
