package bench

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"example.com/orders/internal/test/e2e"
)

// service is a running process of the service, or the bare server.
type service struct {
	addr string
	cmd  *exec.Cmd
	stop func()
}

// startService starts `orders serve` on a target and returns when it is ready. All
// production features are enabled: authentication, guard, events, jobs, and a log file.
// More connections than PostgreSQL can use slow everything down.
func (b *bench) startService(t *target, binary, databaseURL string, pool int) *service {
	addr := e2e.FreeAddr(b.t)
	cmd := exec.CommandContext(b.t.Context(), binary, "serve")
	cmd.Env = t.Environ(b.t, "ORDERS_ADDR="+addr,
		"ORDERS_DATABASE_URL="+e2e.WithParameter(b.t, databaseURL, "pool_max_conns", strconv.Itoa(pool)),
		// A few principals send as much as many do elsewhere, and every request counts.
		"ORDERS_UNLIMITED_ROLES=none",
		"ORDERS_REQUESTS_PER_MINUTE=1000000000", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1000000000",
		"ORDERS_RESERVATION_TTL=24h",                                            // no reservation expires during a long run
		"ORDERS_UNPAID_ORDERS=1000000", "ORDERS_RESERVATION_EXTENSIONS=1000000") // checked, and not reached
	s := b.start(addr, cmd)
	e2e.Eventually(b.t, "the service is ready", func() bool { return e2e.IsOK("http://" + addr + "/health/ready") })
	return s
}

// startBare starts the bare server, which sends the response of a replay.
func (b *bench) startBare(t *target) {
	binary, addr := filepath.Join(b.workDir, "bare"), e2e.FreeAddr(b.t)
	if out, err := exec.CommandContext(b.t.Context(), "go", "build", "-o", binary, "./bare").CombinedOutput(); err != nil {
		b.t.Fatalf("build the bare server: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(b.t.Context(), binary, addr, b.jwksURL)
	cmd.Stdin = strings.NewReader(t.replay)
	t.bare = b.start(addr, cmd)
	e2e.Eventually(b.t, "the bare server listens", func() bool {
		conn, err := net.Dial("tcp", addr) //nolint:noctx // on loopback
		return err == nil && conn.Close() == nil
	})
}

// start starts a process. At the end of the test, it is stopped; a failed test prints the
// end of its output.
func (b *bench) start(addr string, cmd *exec.Cmd) *service {
	log, err := os.CreateTemp(b.workDir, "log-")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the process has a separate descriptor
	s := &service{addr: addr, cmd: cmd}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		_ = cmd.Wait()                          // at the end of the test, it is killed
	})
	b.t.Cleanup(func() {
		s.stop()
		if text, _ := os.ReadFile(log.Name()); b.t.Failed() {
			b.t.Logf("the end of the log of %s:\n%s", cmd.Path, text[max(0, len(text)-2000):])
		}
	})
	return s
}
