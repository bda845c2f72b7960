package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/pg/wire"
)

// proxy forwards the traffic between a store and its server, and breaks connections
// where a test asks for it.
type proxy struct{ *wire.Proxy }

// through starts a proxy and returns the URL of the database behind it.
func (d *database) through(t *testing.T) (proxy, string) {
	t.Helper()
	p, err := wire.Start(d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy{p}, p.URL()
}

// loseAnswerToCommit breaks a connection once, after the server has committed and before
// the client learns of it.
func (p proxy) loseAnswerToCommit() {
	p.SetHook(func(m wire.Message) wire.Verdict {
		if m.AnswersCommit() && p.Cuts() == 0 {
			return wire.CutBefore
		}
		return wire.Forward
	})
}

// hold delays the first answer of the server after arm, and what follows on its
// connection, until release.
type hold struct {
	arm     func() error
	begun   <-chan struct{}
	release func()
}

func (p proxy) hold(t *testing.T) hold {
	t.Helper()
	begun, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	var held atomic.Bool
	arm := func() error {
		p.SetHook(func(m wire.Message) wire.Verdict {
			if m.From == wire.Server && held.CompareAndSwap(false, true) {
				close(begun)
				<-released
			}
			return wire.Forward
		})
		return nil
	}
	return hold{arm, begun, release}
}

// breakAfter breaks the connection that makes a round trip after n others, once. The
// server has done what it was asked for, but its answer is lost.
func (p proxy) breakAfter(n int64) {
	var trips atomic.Int64
	p.SetHook(func(m wire.Message) wire.Verdict {
		if m.Kind == "ReadyForQuery" && trips.Add(1) == n+1 {
			return wire.CutBefore
		}
		return wire.Forward
	})
}
