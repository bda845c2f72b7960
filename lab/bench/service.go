package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 30 * time.Second
)

// build compiles the service and returns the binary's path.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "example.com/orders").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	binary := filepath.Join(dir, "orders")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/orders")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service: %w: %s", err, out)
	}
	return binary, nil
}

// issuer signs the run's tokens and serves the keys that verify them.
type issuer struct {
	*devissuer.Issuer
	jwksURL string
}

func startIssuer(ctx context.Context) (*issuer, error) {
	signer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go signer.Serve(ctx, listener) //nolint:errcheck // without keys, requests fail
	jwks := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: devissuer.JWKSPath}
	return &issuer{signer, jwks.String()}, nil
}

// service is a running process of the service.
type service struct {
	addr, admin string
	cmd         *exec.Cmd
	log         *os.File
}

// startService starts `orders serve` and returns when it is ready. All production
// features are enabled: authentication, guard, events, jobs, and a log file.
func startService(
	ctx context.Context, binary, databaseURL string, pool int, iss *issuer, dir string,
) (*service, error) {
	databaseURL, err := withPool(databaseURL, pool)
	if err != nil {
		return nil, err
	}
	s, err := newService(ctx, dir)
	if err != nil {
		return nil, err
	}
	return s, s.start(ctx, exec.CommandContext(ctx, binary, "serve"), []string{
		"ORDERS_ADDR=" + s.addr, "ORDERS_ADMIN_ADDR=" + s.admin,
		"ORDERS_DATABASE_URL=" + databaseURL,
		"ORDERS_JWT_ISSUER=" + devissuer.Name, "ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=" + iss.jwksURL,
		// A few principals send as much as many do elsewhere, and every request counts.
		"ORDERS_UNLIMITED_ROLES=none", "ORDERS_IN_FLIGHT=1000000",
		"ORDERS_REQUESTS_PER_MINUTE=1000000000", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1000000000",
		"ORDERS_RESERVATION_TTL=24h",                                            // no reservation expires during a long run
		"ORDERS_UNPAID_ORDERS=1000000", "ORDERS_RESERVATION_EXTENSIONS=1000000", // checked, and not reached
	})
}

// newService chooses a process's addresses and log file.
func newService(ctx context.Context, dir string) (*service, error) {
	s := &service{}
	var err error
	if s.addr, err = freeAddr(ctx); err != nil {
		return nil, err
	}
	if s.admin, err = freeAddr(ctx); err != nil {
		return nil, err
	}
	s.log, err = os.CreateTemp(dir, "service-*.log")
	return s, err
}

// start starts the process and returns when it is ready.
func (s *service) start(ctx context.Context, cmd *exec.Cmd, env []string) error {
	s.cmd = cmd
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	return nil
}

// withPool sets the connection pool's size. More connections than PostgreSQL can use
// slow everything down.
func withPool(databaseURL string, size int) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", fmt.Errorf("set the pool size: %w", err)
	}
	query := u.Query()
	query.Set("pool_max_conns", strconv.Itoa(size))
	u.RawQuery = query.Encode()
	return u.String(), nil
}

func (s *service) waitReady(ctx context.Context) error {
	if err := await(ctx, s.ready); err != nil {
		return fmt.Errorf("%s not ready: %w; end of its log: %s", s.cmd.Path, err, s.logTail())
	}
	return nil
}

// await polls until the condition is true, for startTimeout at most.
func await(ctx context.Context, condition func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (s *service) ready(ctx context.Context) bool {
	target := "http://" + s.addr + "/health/ready"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// logTail returns the log's last lines.
func (s *service) logTail() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// stop shuts the service down, and kills it after a timeout.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended; see Wait
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return errors.Join(err, s.log.Close())
	case <-time.After(stopTimeout):
		return errors.Join(errors.New("service did not stop"), s.cmd.Process.Kill(), s.log.Close())
	}
}
