package play

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
)

// listening precedes the address in the first line of a replica.
const listening = "listening on "

// RunReplica runs the service, like orders serve, until ctx or in ends. It prints the
// address in the first line, followed by the log. The playground holds the other end of
// in, so that a replica never outlives it.
func RunReplica(ctx context.Context, name string, environ []string, in io.Reader, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	log := app.NewLog(cfg, out).With().Str("replica", name).Logger()
	app.SetDefaultLog(log)
	ln, err := app.Listen(ctx, cfg, app.MaxConnections)
	if err != nil {
		return err
	}
	defer ln.Close()
	service, err := app.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer service.Close()
	db, err := addTwin(ctx, service, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := fmt.Fprintln(out, listening+ln.Public.Addr().String()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, in); cancel() }()
	return service.Run(ctx, ln, 0)
}

// replica is a service process.
type replica struct {
	name    string
	environ []string
	log     io.Writer

	mu    sync.Mutex // Pay is pressed while a replica starts
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
}

// start starts the process and waits until it is ready.
func (r *replica) start(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "replica", r.name)
	cmd.Env, cmd.Stderr = r.environ, r.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start replica %s: %w", r.name, err)
	}
	ended := make(chan struct{})
	output := bufio.NewReader(stdout)
	first, err := output.ReadString('\n')
	go func() {
		_, _ = io.Copy(r.log, output) // until the process has ended
		_ = cmd.Wait()
		close(ended)
	}()
	addr, found := strings.CutPrefix(strings.TrimSpace(first), listening)
	r.mu.Lock()
	r.addr, r.cmd, r.stdin, r.ended = addr, cmd, stdin, ended
	r.mu.Unlock()
	if err != nil || !found {
		return fmt.Errorf("start replica %s: it printed %q", r.name, first)
	}
	return r.awaitReady(ctx)
}

// awaitReady waits until the replica serves requests.
func (r *replica) awaitReady(ctx context.Context) error {
	return poll(ctx, fmt.Sprintf("replica %s is ready", r.name), func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url()+"/health/ready", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // not ready
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

func (r *replica) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addr
}

func (r *replica) url() string { return "http://" + r.address() }

// pid returns the process id, or 0.
func (r *replica) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return 0
	}
	select {
	case <-r.ended:
		return 0
	default:
		return r.cmd.Process.Pid
	}
}

// kill ends the process with SIGKILL, which it can neither catch nor delay.
func (r *replica) kill() error {
	err := r.cmd.Process.Kill()
	<-r.ended
	return err
}

// stop lets the process complete accepted requests.
func (r *replica) stop() {
	if r.cmd != nil {
		_ = r.stdin.Close()
		<-r.ended
	}
}

// poll waits until a condition holds.
func poll(ctx context.Context, what string, condition func() (bool, error)) error {
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		if holds, err := condition(); holds || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		case <-retry.C:
		}
	}
}
