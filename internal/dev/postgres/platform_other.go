//go:build unix && !linux

package postgres

import "syscall"

// utf8Locale compares text by code point. Only Linux has the locale C.UTF-8.
const utf8Locale = "C"

// stopWithParent does nothing: only Linux can do it. After a crash of this process,
// somebody has to stop the server by hand.
func stopWithParent(*syscall.SysProcAttr) {}

const memoryDir = ""

// hasRoomInMemory reports false: only Linux has a file system in memory for everybody.
func hasRoomInMemory() bool { return false }
