// Package testport gives tests ports for servers that end and begin again.
package testport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// first and last bound the ports that are tried. Systems give higher ones to servers that
// ask for any port: a test's server that takes the place of one that has ended would get
// the requests that were meant for it.
const (
	first = 16_384
	last  = 32_767
)

// tried counts on from a number that differs between the processes of a test run.
var tried atomic.Uint32

func init() { tried.Store(rand.Uint32()) }

// Free finds a port of 127.0.0.1 that nobody listens on, and gives it to nobody else in
// this process.
func Free(t testing.TB) int {
	t.Helper()
	for range last - first {
		port := first + int(tried.Add(1)%(last-first+1))
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // listening waits for nobody
		if err != nil {
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatalf("none of the ports %d to %d is free", first, last)
	return 0
}
