package postgres

import (
	"bytes"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// child is a process that was started here.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // set before exited is closed
}

// launch starts a process that the kernel stops when this one ends, for whatever
// reason.
//
// Linux stops it when the thread that started it ends. So one goroutine starts it,
// keeps its thread, and waits for the end.
func launch(cmd *exec.Cmd) (*child, error) {
	stopWithParent(cmd.SysProcAttr)
	c := &child{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.exited)
	}()
	return c, <-started
}

// signal does nothing if the process has ended.
func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// tailSize is enough for the last lines of a failed start.
const tailSize = 4 << 10

// tail forwards a log and remembers its end, which says why a server did not start.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	last []byte
}

// Write never fails: an error would end the server's log for good.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if extra := len(t.last) - tailSize; extra > 0 {
		t.last = bytes.Clone(t.last[extra:])
	}
	_, _ = t.next.Write(p)
	return len(p), nil
}

// reason returns the lines in which the server says why it ended, or all remembered
// lines if there are none.
func (t *tail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var fatal []string
	for line := range strings.Lines(string(t.last)) {
		if strings.Contains(line, "FATAL") || strings.Contains(line, "DETAIL") || strings.Contains(line, "HINT") {
			fatal = append(fatal, strings.TrimSpace(line))
		}
	}
	if len(fatal) == 0 {
		return strings.TrimSpace(string(t.last))
	}
	return strings.Join(fatal, " ")
}
