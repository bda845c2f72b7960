package app

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
)

// An attempt that does not end by itself is cut off when the time of the drain is over, and
// no new one has begun since its start.
func TestDrain_WaitsForAttemptsAndCutsThemOff(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	claiming, stopClaiming := context.WithCancel(t.Context())
	sending, stopSending := context.WithCancel(t.Context())
	a.endpoints.stopClaiming, a.endpoints.stopSending = stopClaiming, stopSending
	var ended atomic.Bool
	a.endpoints.running.Go(func() { <-sending.Done(); ended.Store(claiming.Err() != nil) })
	over, end := context.WithCancel(t.Context())
	end()

	_ = a.drain(over, server(http.NotFoundHandler(), zerolog.Nop())) // the jobs have not run

	if !ended.Load() {
		t.Error("drain has not waited for the attempt, or attempts could begin")
	}
}
