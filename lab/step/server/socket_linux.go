package server

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// socket is a connection. Its calls block the only processor of the process: Go would start
// a thread for others, and none runs while a statement does.
type socket struct {
	file *os.File
	fd   uintptr
}

func dial(network, address string) (socket, error) {
	conn, err := net.Dial(network, address) //nolint:noctx // the server is on this machine
	if err != nil {
		return socket{}, err
	}
	defer conn.Close() //nolint:errcheck // the file is a copy
	filer, ok := conn.(interface{ File() (*os.File, error) })
	if !ok {
		return socket{}, fmt.Errorf("%s is no socket", network)
	}
	file, err := filer.File()
	if err != nil {
		return socket{}, err
	}
	return socket{file, file.Fd()}, nil // Fd makes it blocking
}

// write sends everything, unless the connection is reset: then it has replies to read.
func (s socket) write(raw []byte) {
	for len(raw) > 0 {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)), syscall.MSG_NOSIGNAL, 0, 0) //nolint:gosec // alive
		if errno == 0 {
			raw = raw[n:]
		} else if errno != syscall.EINTR {
			return
		}
	}
}

// readable waits until there is something to read.
func (s socket) readable(wait time.Duration) bool {
	poll := struct {
		fd              int32
		events, revents int16
	}{int32(s.fd), 1, 0} // POLLIN
	timeout := syscall.NsecToTimespec(int64(wait))
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&timeout)), 0, 0, 0) //nolint:gosec // alive
		if errno != syscall.EINTR {
			return n > 0
		}
	}
}

// read returns 0 at the end.
func (s socket) read(p []byte) int {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, s.fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))) //nolint:gosec // alive
	if errno != 0 {                                                                                            // reset
		return 0
	}
	return int(n)
}

func (s socket) close() { _ = s.file.Close() }
