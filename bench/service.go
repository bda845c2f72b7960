package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// startPatience bounds the start of the service, stopPatience its orderly end.
const (
	startPatience = 30 * time.Second
	stopPatience  = 30 * time.Second
)

// build compiles the service as it is delivered.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
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

// issuer signs the tokens of the run and serves the keys to verify them.
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
	go signer.Serve(ctx, listener) //nolint:errcheck // without keys no request succeeds, and that is reported
	return &issuer{signer, "http://" + listener.Addr().String() + devissuer.JWKSPath}, nil
}

// service is the service as a process of its own.
type service struct {
	addr, admin string
	cmd         *exec.Cmd
	log         *os.File
}

// startService runs `orders serve` with everything on that is on in production:
// authentication, guard, events, jobs, and a log that goes to a file.
func startService(ctx context.Context, binary, databaseURL string, pool int, iss *issuer, dir string) (*service, error) {
	s := &service{}
	var err error
	if s.addr, err = freeAddr(ctx); err != nil {
		return nil, err
	}
	if s.admin, err = freeAddr(ctx); err != nil {
		return nil, err
	}
	if s.log, err = os.CreateTemp(dir, "service-*.log"); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, binary, "serve")
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopPatience
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = []string{
		"ORDERS_ADDR=" + s.addr, "ORDERS_ADMIN_ADDR=" + s.admin,
		"ORDERS_DATABASE_URL=" + withPool(databaseURL, pool),
		"ORDERS_JWT_ISSUER=" + devissuer.Name, "ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=" + iss.jwksURL,
		"ORDERS_RESERVATION_TTL=24h", // so that no hold of the benchmark lapses within a long run
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// withPool sets the size of the pool. One connection more than PostgreSQL can use makes
// everything slower.
func withPool(databaseURL string, size int) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		panic("bench: " + err.Error()) // devserver made it
	}
	query := u.Query()
	query.Set("pool_max_conns", strconv.Itoa(size))
	u.RawQuery = query.Encode()
	return u.String()
}

func freeAddr(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func (s *service) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service does not become ready; its log ends: %s", s.lastWords())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *service) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/health/ready", nil)
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

// lastWords gives the end of the log.
func (s *service) lastWords() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// stop ends the service in order.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended, and Wait says how
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return errors.Join(err, s.log.Close())
	case <-time.After(stopPatience):
		return errors.Join(errors.New("the service does not stop"), s.cmd.Process.Kill(), s.log.Close())
	}
}

// profile saves where the service spends its CPU time during the next seconds.
func (s *service) profile(ctx context.Context, length time.Duration, file string) error {
	target := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.admin, int(length.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	defer resp.Body.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, resp.Body)
	return errors.Join(err, out.Close())
}
