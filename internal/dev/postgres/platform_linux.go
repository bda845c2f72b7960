package postgres

import "syscall"

// utf8Locale compares text by code point, the same on every machine.
const utf8Locale = "C.UTF-8"

func stopWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
