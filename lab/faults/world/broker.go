package world

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	outnats "example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	natstest "example.com/orders/internal/test/nats"
)

// BrokerLink is a proxy between the replicas and the broker. It always forwards
// requests. A hook can hold, lose or repeat the broker's answers.
type BrokerLink struct {
	listener net.Listener
	broker   string
	hook     atomic.Pointer[answerHook]

	mu   sync.Mutex
	open map[net.Conn]bool
}

// answerHook returns the bytes that a replica gets instead of the broker's answer.
// While it blocks, later answers on the same connection wait.
type answerHook func(answer []byte) []byte

func startBrokerLink(t testing.TB, broker *devbroker.Broker) *BrokerLink {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &BrokerLink{listener: listener, broker: strings.TrimPrefix(broker.URL(), "nats://"), open: map[net.Conn]bool{}}
	l.SetHook(nil)
	var accepting sync.WaitGroup
	accepting.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		l.Cut()
		accepting.Wait()
	})
	return l
}

// URL returns the broker's URL through the link.
func (l *BrokerLink) URL() string { return "nats://" + l.listener.Addr().String() }

// SetHook lets a hook change all further answers; nil forwards them.
func (l *BrokerLink) SetHook(h answerHook) {
	if h == nil {
		h = func(answer []byte) []byte { return answer }
	}
	l.hook.Store(&h)
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

// serve copies both directions until one ends.
func (l *BrokerLink) serve(replica net.Conn) {
	broker, err := net.Dial("tcp", l.broker) //nolint:noctx // on loopback, it is there or not
	if err != nil {
		_ = replica.Close()
		return
	}
	l.track(true, replica, broker)
	defer l.track(false, replica, broker)
	var copying sync.WaitGroup
	copying.Go(func() { copyChanged(broker, replica, func(p []byte) []byte { return p }) })
	copyChanged(replica, broker, func(p []byte) []byte { return (*l.hook.Load())(p) })
	copying.Wait()
}

func copyChanged(to, from net.Conn, change answerHook) {
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

// track notes that connections are open, or no longer.
func (l *BrokerLink) track(open bool, conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		if open {
			l.open[conn] = true
		} else {
			delete(l.open, conn)
		}
	}
}

// EventReader reads the ids of events in the stream, each once.
type EventReader struct {
	js   jetstream.JetStream
	next uint64 // next sequence number
}

// NewEventReader returns a reader that starts with the first event of the stream.
func (s *System) NewEventReader(t testing.TB) *EventReader {
	t.Helper()
	return &EventReader{js: natstest.JetStream(t, s.Streams), next: 1}
}

// Read returns the ids of new events, including those before an error.
func (r *EventReader) Read(ctx context.Context) (ids []string, err error) {
	stream, err := r.js.Stream(ctx, outnats.Stream)
	if err != nil {
		return nil, err
	}
	for last := stream.CachedInfo().State.LastSeq; r.next <= last; r.next++ {
		message, err := stream.GetMsg(ctx, r.next)
		if err != nil {
			return ids, err
		}
		ids = append(ids, message.Header.Get(jetstream.MsgIDHeader))
	}
	return ids, nil
}

// MustRead is read for a working broker.
func (r *EventReader) MustRead(t testing.TB) []string {
	t.Helper()
	ids, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
