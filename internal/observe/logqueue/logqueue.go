// Package logqueue keeps a reader that stops from stopping the process: a write to a
// full pipe has no deadline, and every request logs a line.
package logqueue

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// capacity bounds the waiting lines: about two seconds of full load, in two megabytes.
const capacity = 4096

// Queue is a writer that never waits. Lines wait in memory while the output is busy,
// and are dropped while the queue is full. Each dropped line is counted at once:
// zerolog's diode counts only when the reader moves on, and a reader that has stopped
// never does.
type Queue struct {
	out      io.Writer
	report   func(lines uint64)
	lines    chan []byte
	dropped  atomic.Uint64
	reported uint64
	close    func()
	closing  chan struct{}
	written  chan struct{} // closed after the last line
}

// New returns a queue that writes each line to out. When out takes lines again, report
// may write to it how many were dropped: a log with a gap must not look complete.
func New(out io.Writer, report func(lines uint64)) *Queue {
	q := &Queue{
		out: out, report: report, lines: make(chan []byte, capacity),
		closing: make(chan struct{}), written: make(chan struct{}),
	}
	q.close = sync.OnceFunc(func() { close(q.closing) })
	go q.forward()
	return q
}

// Write queues a line. It returns no error, because callers have no other place to
// report one.
func (q *Queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line): // the caller reuses the buffer
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}

// Dropped returns the number of lines that are lost. A nil queue loses no line.
func (q *Queue) Dropped() uint64 {
	if q == nil {
		return 0
	}
	return q.dropped.Load()
}

// Close writes the waiting lines, for no longer than timeout.
func (q *Queue) Close(timeout time.Duration) {
	q.close()
	select {
	case <-q.written:
	case <-time.After(timeout):
	}
}

func (q *Queue) forward() {
	defer close(q.written)
	for {
		select {
		case line := <-q.lines:
			q.write(line)
		case <-q.closing:
			for len(q.lines) > 0 {
				q.write(<-q.lines)
			}
			return
		}
	}
}

func (q *Queue) write(line []byte) {
	if _, err := q.out.Write(line); err != nil {
		q.dropped.Add(1)
		return
	}
	if dropped := q.dropped.Load(); dropped > q.reported {
		q.report(dropped - q.reported)
		q.reported = dropped
	}
}
