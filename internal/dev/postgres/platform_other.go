//go:build unix && !linux

package postgres

import "syscall"

// utf8Locale compares text by code point; the name C.UTF-8 is known on Linux only.
const utf8Locale = "C"

// stopWithParent cannot be had here: after a crash of ours the server runs on until it is stopped by hand.
func stopWithParent(*syscall.SysProcAttr) {}
