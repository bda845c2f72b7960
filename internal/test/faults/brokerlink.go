package faults

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	devbroker "example.com/orders/internal/dev/broker"
)

// BrokerLink is a proxy between the replicas and the broker. What replicas send always
// arrives; what the broker answers can be held, lost or repeated.
type BrokerLink struct {
	listener net.Listener
	broker   string

	mode  atomic.Int32
	lost  atomic.Int64 // answers that the replicas never got
	twice atomic.Int64 // acknowledgements that they got twice

	mu    sync.Mutex
	open  map[net.Conn]bool
	freed *sync.Cond // is signalled when the mode changes
}

// What a link does with the answers of the broker.
const (
	passAnswers int32 = iota
	holdAnswers
	loseAnswers
	repeatAnswers
)

func startBrokerLink(t testing.TB, broker *devbroker.Broker) *BrokerLink {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &BrokerLink{listener: listener, broker: strings.TrimPrefix(broker.URL(), "nats://"), open: map[net.Conn]bool{}}
	l.freed = sync.NewCond(&l.mu)
	var accepting sync.WaitGroup
	accepting.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		l.set(passAnswers)
		l.Cut()
		accepting.Wait()
	})
	return l
}

// URL returns the URL of the broker through the link.
func (l *BrokerLink) URL() string { return "nats://" + l.listener.Addr().String() }

// set changes what the link does with the answers.
func (l *BrokerLink) set(mode int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode.Store(mode)
	l.freed.Broadcast()
}

// Cut breaks all connections.
func (l *BrokerLink) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.open {
		_ = conn.Close()
	}
}

func (l *BrokerLink) accept() {
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		replica, err := l.listener.Accept()
		if err != nil {
			return
		}
		serving.Go(func() { l.serve(replica) })
	}
}

// serve copies in both directions until one of them ends.
func (l *BrokerLink) serve(replica net.Conn) {
	broker, err := net.Dial("tcp", l.broker) //nolint:noctx // on loopback, it is there or not
	if err != nil {
		_ = replica.Close()
		return
	}
	l.track(replica, broker)
	defer l.forget(replica, broker)
	var copying sync.WaitGroup
	copying.Go(func() { l.copy(broker, replica, func(p []byte) []byte { return p }) })
	l.copy(replica, broker, l.answer)
	copying.Wait()
}

func (l *BrokerLink) copy(to, from net.Conn, change func([]byte) []byte) {
	defer to.Close()   //nolint:errcheck // both ends see that it is closed
	defer from.Close() //nolint:errcheck // as above
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(change(buffer[:n])); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer returns what a replica gets instead of bytes of the broker.
func (l *BrokerLink) answer(p []byte) []byte {
	l.awaitFreed()
	isAck := bytes.HasPrefix(p, []byte("MSG ")) && bytes.HasSuffix(p, []byte("\r\n"))
	switch l.mode.Load() {
	case loseAnswers:
		l.lost.Add(1)
		return nil
	case repeatAnswers:
		if isAck {
			l.twice.Add(1)
			return append(bytes.Clone(p), p...)
		}
	}
	return p
}

// awaitFreed waits while answers are held.
func (l *BrokerLink) awaitFreed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mode.Load() == holdAnswers {
		l.freed.Wait()
	}
}

func (l *BrokerLink) track(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.open[conn] = true
	}
}

func (l *BrokerLink) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		delete(l.open, conn)
	}
}
