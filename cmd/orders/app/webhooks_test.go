package app

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
)

func TestStopCourier_WaitsForAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(release, cut func())
		over bool
	}{
		"until they end":            {func(release, _ func()) { release() }, true},
		"until its time has passed": {func(_, cut func()) { cut() }, false}, // they are due again on another replica
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				attempt, release := context.WithCancel(t.Context())
				inTime, cut := context.WithCancel(t.Context())
				var ended, stopped bool
				stop := startCourier(func(claiming context.Context) { <-claiming.Done(); <-attempt.Done(); ended = true })
				go func() { stop(inTime); stopped = true }()
				synctest.Wait()
				if stopped {
					t.Error("stop has not waited")
				}

				c.end(release, cut)
				synctest.Wait()

				if !stopped || ended != c.over {
					t.Errorf("stopped: %t, the attempt has ended: %t; want true and %t", stopped, ended, c.over)
				}
				release()
				cut()
			})
		})
	}
}

func TestDrain_StopsTheCourier(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	stopped := false
	a.stopCourier = func(context.Context) { stopped = true }

	_ = a.drain(t.Context(), server(http.NotFoundHandler(), zerolog.Nop())) // the jobs have not run

	if !stopped {
		t.Error("the courier goes on")
	}
}
