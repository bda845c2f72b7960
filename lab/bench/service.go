package bench

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"example.com/orders/internal/test/e2e"
)

// service is a running process of the service.
type service struct {
	addr string
	cmd  *exec.Cmd
	stop func()
}

// startService starts `orders serve` on a target and returns when it is ready. All
// production features are enabled: authentication, guard, events, jobs, and a log file.
// More connections than PostgreSQL can use slow everything down.
func (b *bench) startService(t *target, binary, databaseURL string, pool int) *service {
	log, err := os.CreateTemp(b.workDir, "service-*.log")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the process has a separate descriptor
	s := &service{addr: e2e.FreeAddr(b.t), cmd: exec.CommandContext(b.t.Context(), binary, "serve")}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = t.Environ(b.t, "ORDERS_ADDR="+s.addr,
		"ORDERS_DATABASE_URL="+e2e.WithParameter(b.t, databaseURL, "pool_max_conns", strconv.Itoa(pool)),
		// A few principals send as much as many do elsewhere, and every request counts.
		"ORDERS_UNLIMITED_ROLES=none",
		"ORDERS_REQUESTS_PER_MINUTE=1000000000", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1000000000",
		"ORDERS_RESERVATION_TTL=24h",                                            // no reservation expires during a long run
		"ORDERS_UNPAID_ORDERS=1000000", "ORDERS_RESERVATION_EXTENSIONS=1000000") // checked, and not reached
	if err := s.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		_ = s.cmd.Wait()                          // at the end of the test, it is killed
	})
	b.t.Cleanup(func() {
		s.stop()
		if text, _ := os.ReadFile(log.Name()); b.t.Failed() {
			b.t.Logf("the end of the log of %s:\n%s", binary, text[max(0, len(text)-2000):])
		}
	})
	e2e.Eventually(b.t, "the service is ready", func() bool { return e2e.IsOK("http://" + s.addr + "/health/ready") })
	return s
}
