// Package process starts programs that end with the process that starts them.
package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a child process. Grandchildren may outlive it.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // set before exited is closed
}

// Start starts cmd, whose SysProcAttr must be set. On Linux, the kernel signals it when
// this process ends for any reason.
//
// Linux does so when the thread that started it ends. So one goroutine starts it, keeps
// its thread, and waits for the end.
func Start(cmd *exec.Cmd, atParentsEnd syscall.Signal) (*Process, error) {
	signalAtParentsEnd(cmd.SysProcAttr, atParentsEnd)
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal. It is a no-op if the process has ended.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the process ended, as [exec.Cmd.Wait] does. It may be called when Exited
// is closed.
func (p *Process) Err() error { return p.err }
