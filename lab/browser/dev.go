//go:build browser

package browser

import (
	"bufio"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
)

// OrdersDev is orders-dev in a separate process, as `make run` starts it.
type OrdersDev struct {
	URL string

	dir string
}

// StartOrdersDev starts orders-dev on an empty folder and free ports.
func StartOrdersDev(t testing.TB) *OrdersDev {
	t.Helper()
	// the PostgreSQL user has to reach the folder. Below t's folder, only root could.
	dir, err := os.MkdirTemp("/tmp", "orders-dev-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), e2e.BuildOrdersDev(t), "--dir", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // t's context has ended then
	d := &OrdersDev{URL: readURL(t, out), dir: dir}
	e2e.Eventually(t, "the service is ready", func() bool { return e2e.IsOK(d.URL + "/health/ready") })
	return d
}

// readURL returns the address that orders-dev prints, and discards later output.
func readURL(t testing.TB, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "ORDERS="); found {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return address
		}
	}
	t.Fatalf("orders-dev ended: %v", lines.Err())
	return ""
}

// Query returns the single row that a query finds in an orders-dev database.
func Query[T any](t testing.TB, d *OrdersDev, database, sql string, args ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.databaseURL(t, database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[T])
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// databaseURL returns a database URL. PostgreSQL writes its socket folder into the
// fifth line of postmaster.pid, and its port into the fourth.
func (d *OrdersDev) databaseURL(t testing.TB, database string) string {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(d.dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(written), "\n")
	query := url.Values{"host": {lines[4]}, "port": {lines[3]}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + database + "?" + query.Encode()
}
