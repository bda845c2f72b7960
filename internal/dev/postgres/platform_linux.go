package postgres

import "syscall"

// utf8Locale compares text by code point, so that the order is the same everywhere.
const utf8Locale = "C.UTF-8"

// memoryDir is a file system in memory. A database has hundreds of files, and creating
// and dropping one took about fifteen times the CPU on disk.
const memoryDir = "/dev/shm"

// roomNeeded is several times the size of a test cluster. Containers have 64 MB by
// default.
const roomNeeded = 4 << 30

func hasRoomInMemory() bool {
	var fs syscall.Statfs_t
	err := syscall.Statfs(memoryDir, &fs)
	return err == nil && fs.Bavail*uint64(fs.Bsize) >= roomNeeded
}
