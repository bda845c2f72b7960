package logqueue

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// output is a pipe whose reader begins when reading is closed.
type output struct {
	reading chan struct{}
	text    bytes.Buffer
	err     error
}

func newOutput() *output { return &output{reading: make(chan struct{})} }

func (o *output) Write(line []byte) (int, error) {
	<-o.reading
	if o.err != nil {
		return 0, o.err
	}
	return o.text.Write(line)
}

func (o *output) report(lines uint64) { fmt.Fprintf(&o.text, "%d lines dropped\n", lines) }

// numbered returns n lines.
func numbered(n int) string {
	var text bytes.Buffer
	for i := range n {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	return text.String()
}

// write writes n lines from one buffer, as zerolog does.
func write(t *testing.T, q *Queue, n int) {
	t.Helper()
	var buffer []byte
	for i := range n {
		buffer = fmt.Appendf(buffer[:0], "line %d\n", i)
		if written, err := q.Write(buffer); written != len(buffer) || err != nil {
			t.Fatalf("line %d: %d, %v", i, written, err)
		}
	}
}

func TestQueue_WritesEveryLineInOrder(t *testing.T) {
	t.Parallel()
	out := newOutput()
	q := New(out, out.report)
	write(t, q, capacity)
	close(out.reading)
	q.Close(time.Hour)
	if out.text.String() != numbered(capacity) || q.Dropped() != 0 {
		t.Errorf("%d lines were dropped, and these written:\n%s", q.Dropped(), &out.text)
	}
}

func TestQueue_DropsLinesInsteadOfWaitingForTheReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		q := New(out, out.report)
		write(t, q, 1)
		synctest.Wait() // the output has the first line

		write(t, q, capacity+7)

		if n := q.Dropped(); n != 7 {
			t.Errorf("%d lines are dropped while the reader is stopped, want 7", n)
		}
		close(out.reading)
		q.Close(time.Hour)
		if want := "line 0\n7 lines dropped\n" + numbered(capacity); out.text.String() != want {
			t.Errorf("the log is\n%s", &out.text)
		}
	})
}

func TestQueue_ClosesInTimeAlthoughTheReaderIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		q := New(out, out.report)
		write(t, q, 2)
		start := time.Now()
		q.Close(time.Second)
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %v, want a second", took)
		}
		close(out.reading)
	})
}

func TestQueue_CountsLinesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	out := newOutput()
	out.err = errors.New("broken pipe")
	close(out.reading)
	q := New(out, out.report)
	write(t, q, 3)
	q.Close(time.Hour)
	if n := q.Dropped(); n != 3 || out.text.Len() > 0 {
		t.Errorf("%d lines are dropped, want 3; the log is %s", n, &out.text)
	}
}
