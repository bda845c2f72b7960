package app

import (
	"context"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
)

func TestDrain_WaitsForAttempts(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	release, ended := make(chan struct{}), false
	a.stopCourier = startCourier(func(claiming context.Context) {
		<-claiming.Done()
		<-release
		ended = true
	})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_ = a.drain(t.Context(), server(http.NotFoundHandler(), zerolog.Nop())) // the jobs have not run
	}()

	close(release)
	<-drained

	if !ended {
		t.Error("drain has not waited for the attempt")
	}
}

// An attempt that does not end is due again on another replica.
func TestDrain_EndsWithItsTime(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	release := make(chan struct{})
	a.stopCourier = startCourier(func(context.Context) { <-release })
	defer close(release)
	over, end := context.WithCancel(t.Context())
	end()

	_ = a.drain(over, server(http.NotFoundHandler(), zerolog.Nop()))
}
