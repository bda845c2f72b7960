package cluster

import "syscall"

// endWithParent lets the kernel end a process when the one that started it ends, for whatever
// reason.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
