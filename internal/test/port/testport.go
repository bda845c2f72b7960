// Package testport finds ports for servers that tests stop and start.
package testport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// first and last bound the ports that are tried. They lie below those that the system
// assigns to servers that ask for any port: such a server could otherwise get a stopped
// server's port, and its requests.
const (
	first = 16_384
	last  = 32_767
)

// tried starts at random, so that the processes in a test run try different ports.
var tried atomic.Uint32

func init() { tried.Store(rand.Uint32()) }

// Free returns a 127.0.0.1 port without a listener. It returns each port only once in
// this process. It asks by a connection: a listener of its own would stay open in each
// program that is being started meanwhile.
func Free(t testing.TB) int {
	t.Helper()
	for range last - first {
		port := first + int(tried.Add(1)%(last-first+1))
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return port
		}
		_ = conn.Close()
	}
	t.Fatalf("none of the ports %d to %d is free", first, last)
	return 0
}
