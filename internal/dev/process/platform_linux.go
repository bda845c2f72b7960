package process

import "syscall"

func signalAtParentsEnd(attr *syscall.SysProcAttr, s syscall.Signal) { attr.Pdeathsig = s }
