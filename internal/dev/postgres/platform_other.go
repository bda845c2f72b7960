//go:build unix && !linux

package postgres

// utf8Locale compares text by code point. Only Linux has the locale C.UTF-8.
const utf8Locale = "C"

const memoryDir = ""

// hasRoomInMemory reports false: only Linux has a shared file system in memory.
func hasRoomInMemory() bool { return false }
