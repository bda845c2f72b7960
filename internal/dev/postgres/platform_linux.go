package postgres

import "syscall"

// utf8Locale compares text by code point, so that the order is the same everywhere.
const utf8Locale = "C.UTF-8"

// stopWithParent makes the kernel stop the process when the thread that started it
// ends.
func stopWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
