package process_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/orders/internal/test/e2e"
)

// sendLogged sends n requests, each of which has a line in the log.
func sendLogged(t *testing.T, s *e2e.Service, n int) {
	t.Helper()
	const clients = 8
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var all errgroup.Group
	for range clients {
		all.Go(func() error {
			for range n / clients {
				r, err := s.Try(ctx, t, e2e.Get("", "/no/such/path"))
				if err == nil && r.Status != http.StatusNotFound {
					err = fmt.Errorf("a request was answered %d: %s", r.Status, r.Body)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A line is longer than 200 bytes: these fill the pipe, of 64 KiB, and the buffer
// behind it.
const moreThanThePipe = 800

func TestService_AnswersAlthoughItsLogIsNotRead(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t))
	s := env.ServiceOf(p)
	p.StopReading(t)
	sendLogged(t, s, moreThanThePipe)

	s.Credit(t, e2e.Alice, "1.00")

	if n := env.Count(t, "SELECT count(*) FROM ledger_entry WHERE customer_id = $1", e2e.Alice); n != 1 {
		t.Errorf("%d ledger entries, want 1", n)
	}
	p.WantEnd(t, p.Terminate(t), e2e.Patience) // both outputs are that pipe
}

func TestService_AnswersAlthoughItsLogIsClosed(t *testing.T) {
	t.Parallel()
	env, admin := e2e.NewEnv(t), e2e.FreeAddr(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin)
	s := env.ServiceOf(p)
	p.CloseOutput(t)

	sendLogged(t, s, 8)
	e2e.Eventually(t, "lost lines are counted", func() bool {
		sendLogged(t, s, 8)
		return e2e.DroppedLines.Read(t, admin) > 0
	})

	p.WantEnd(t, p.Terminate(t), e2e.Patience)
}

func TestCommand_EndsAlthoughItsErrorIsNotRead(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), e2e.BuildOrders(t), "nonsense")
	cmd.Stderr = fullPipe(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("the command ended with %v", err)
		}
	case <-time.After(e2e.Patience):
		t.Error("the command still runs")
	}
}

// fullPipe returns a pipe that takes no more.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	conn, err := writer.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Write(func(fd uintptr) bool {
		var full error
		for full == nil {
			_, full = syscall.Write(int(fd), []byte{0})
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return writer
}
