package faults

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	outnats "example.com/orders/internal/adapters/out/nats"
	natstest "example.com/orders/internal/test/nats"
)

// eventReader reads the ids of events in the stream, each once.
type eventReader struct {
	js   jetstream.JetStream
	next uint64 // next sequence number
}

func (s *System) newEventReader(t testing.TB) *eventReader {
	t.Helper()
	return &eventReader{js: natstest.JetStream(t, s.Streams), next: 1}
}

// read returns the ids of new events, including those before an error.
func (r *eventReader) read(ctx context.Context) (ids []string, err error) {
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

// mustRead is read for a working broker.
func (r *eventReader) mustRead(t testing.TB) []string {
	t.Helper()
	ids, err := r.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
