package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/observe/logqueue"
)

// unread is an output whose reader pauses until released.
type unread struct {
	released chan struct{}
	text     bytes.Buffer
}

func (u *unread) Write(p []byte) (int, error) {
	<-u.released
	return u.text.Write(p)
}

func TestOutput_WaitsForItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &unread{released: make(chan struct{})}
		time.AfterFunc(24*time.Hour, func() { close(out.released) })
		if err := run(t.Context(), []string{"version"}, nil, out); err != nil || out.text.Len() == 0 {
			t.Errorf("%v, and the output is %q", err, &out.text)
		}
	})
}

// A signal ends the command's context.
func TestOutput_EndsWithTheCommandAlthoughItIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &unread{released: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := run(ctx, []string{"help"}, nil, out)
		if took := time.Since(start); !errors.Is(err, errUnread) || took != time.Minute+outputTimeout {
			t.Errorf("%v after %v", err, took)
		}
		close(out.released)
	})
}

func TestOutput_IsWrittenAfterAStop(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := stoppable(ctx, &out).Write([]byte("changed")); n != 7 || err != nil || out.String() != "changed" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}

func TestServe_WritesTheLastLinesOfItsLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &unread{released: make(chan struct{})}
		time.AfterFunc(outputTimeout/2, func() { close(out.released) })
		err := logged(config.Config{}, out, func(log zerolog.Logger, _ *logqueue.Queue) error {
			log.Info().Msg("drained")
			return nil
		})
		if err != nil || !bytes.Contains(out.text.Bytes(), []byte("drained")) {
			t.Errorf("%v, and the log is %q", err, &out.text)
		}
	})
}
