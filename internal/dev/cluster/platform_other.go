//go:build !linux

package cluster

import "syscall"

// endWithParent does nothing: a cluster runs on Linux only.
func endWithParent(*syscall.SysProcAttr) {}
