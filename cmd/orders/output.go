package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// outputTimeout bounds the wait for a reader of the output at the end of a command.
const outputTimeout = 5 * time.Second

var errUnread = errors.New("stopped, and the output is not read")

// stoppable returns a writer to out for a command that must print everything, however
// long the reader pauses, as in `orders jobs list | less`. When ctx has ended, a write
// waits for outputTimeout only: signals would otherwise end no command that prints.
func stoppable(ctx context.Context, out io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		type result struct {
			n   int
			err error
		}
		written := make(chan result, 1)
		text := bytes.Clone(p) // a write that is given up still reads it
		go func() {
			n, err := out.Write(text)
			written <- result{n, err}
		}()
		select {
		case r := <-written:
			return r.n, r.err
		case <-ctx.Done():
		}
		select {
		case r := <-written:
			return r.n, r.err
		case <-time.After(outputTimeout):
			return 0, errUnread
		}
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
