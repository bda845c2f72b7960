package e2e

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	testlog "example.com/orders/internal/test/log"
)

// output reads the output of a process from a pipe, like a log collector.
type output struct {
	testlog.Buffer
	pipe    *os.File
	reading sync.Mutex
	stopped atomic.Bool
	ended   chan struct{}
}

// startWithOutput starts a command with one pipe for both outputs.
func startWithOutput(t testing.TB, cmd *exec.Cmd) *output {
	t.Helper()
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = end, end
	err = cmd.Start()
	_ = end.Close() // the process has its own
	if err != nil {
		t.Fatal(err)
	}
	o := &output{pipe: pipe, ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		_, _ = io.Copy(o, pipe) // until the process ends
	}()
	return o
}

// Write keeps what was read.
func (o *output) Write(p []byte) (int, error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	return o.Buffer.Write(p)
}

// awaitEnd waits until all output of a process that has ended is read, unless reading
// is stopped.
func (o *output) awaitEnd() {
	if !o.stopped.Load() {
		<-o.ended
	}
	_ = o.pipe.Close()
}

// StopReading stops reading the output, like a log collector that hangs, until the
// test ends.
func (p *Process) StopReading(t testing.TB) {
	t.Helper()
	p.log.stopped.Store(true)
	p.log.reading.Lock()
	t.Cleanup(p.log.reading.Unlock)
}

// CloseOutput closes the pipe of the output, like a log collector that is gone.
func (p *Process) CloseOutput(t testing.TB) {
	t.Helper()
	if err := p.log.pipe.Close(); err != nil {
		t.Fatal(err)
	}
}
