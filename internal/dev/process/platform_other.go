//go:build unix && !linux

package process

import "syscall"

// signalAtParentsEnd is a no-op: only Linux supports it. After a crash of this
// process, the other one has to be stopped by hand.
func signalAtParentsEnd(*syscall.SysProcAttr, syscall.Signal) {}
