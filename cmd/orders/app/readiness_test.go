package app

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestReadiness_IsCheckedOnceASecondWhateverTheLoad(t *testing.T) {
	t.Parallel()
	var checks int
	now := time.Now()
	down := errors.New("the database is down")
	r := &readiness{now: func() time.Time { return now }, check: func(context.Context) error { checks++; return down }}
	askers := func() {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := r.get(t.Context()); !errors.Is(err, down) {
					t.Errorf("got %v, want %v", err, down)
				}
			})
		}
		all.Wait()
	}
	for second := 1; second <= 3; second++ {
		askers()
		now = now.Add(readyFor - 1)
		askers()
		if checks != second {
			t.Errorf("%d checks in %d seconds", checks, second)
		}
		now = now.Add(1)
	}
}

func TestReadiness_DoesNotDependOnWhoAsks(t *testing.T) {
	t.Parallel()
	r := &readiness{now: time.Now, check: func(ctx context.Context) error { return ctx.Err() }}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := r.get(gone); err != nil {
		t.Errorf("one who hangs up makes the process unready: %v", err)
	}
}

func TestReady_ReportsDrainingAtOnce(t *testing.T) {
	t.Parallel()
	a := &App{readiness: &readiness{now: time.Now, check: func(context.Context) error { return nil }}}
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.draining.Store(true)
	if err := a.ready(t.Context()); err == nil {
		t.Error("a process that is shutting down is ready")
	}
}
