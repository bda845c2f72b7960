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

// child is a process that has been started and will be waited for.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; to be read after exited is closed
}

// launch starts a process that is signalled to stop at once when we die, however we die.
//
// Linux sends that signal when the *thread* that started the process ends, not the process it belongs to. So one
// goroutine starts it, keeps its thread, and waits.
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

// signal does nothing to a process that has ended.
func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// tailSize holds the last lines of a failed start.
const tailSize = 4 << 10

// tail passes a log on and remembers its end, to say why a server did not start.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	last []byte
}

// Write never fails, because a failure would end the server's log for good.
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

// reason is what the server gave as its reason to end, or else all that is remembered.
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
