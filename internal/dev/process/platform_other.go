//go:build unix && !linux

package process

import "syscall"

// signalAtParentsEnd does nothing: only Linux can do it. After a crash of this process,
// somebody has to stop the other one by hand.
func signalAtParentsEnd(*syscall.SysProcAttr, syscall.Signal) {}
