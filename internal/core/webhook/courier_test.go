package webhook_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/webhook"
	testwait "example.com/orders/internal/test/wait"
)

type answers = map[string]func(context.Context, webhook.Attempt) webhook.Outcome

func TestCourier_LetsNoEndpointTakeThePlacesOfAnother(t *testing.T) {
	t.Parallel()
	const orders, events = 50, 10
	f := newFixture(t)
	f.addEndpoints(t, "hangs", "fails", "works")
	f.addEvents(t, orders, events)
	r := newReceivers(answers{"hangs": hangs(t), "fails": fails(500)})

	f.start(t, r)

	testwait.Until(t, "the third endpoint has all events", func() bool { return len(r.bodies("works")) == orders*events })
	testwait.Until(t, "the second one has been tried with all", func() bool { return len(r.attempts("fails")) >= orders*events })
	f.wantAll(t, r, "works")
	if n := len(r.attempts("hangs")); n != 8 {
		t.Errorf("%d attempts hang, want 8", n)
	}
}

func TestCourier_SendsOnceWithSeveralReplicas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "any", "ordered")
	r := newReceivers(nil)
	f.start(t, r)
	f.start(t, r)

	f.addEvents(t, 20, 5)

	testwait.Until(t, "everything is accepted", func() bool { return len(r.bodies("any"))+len(r.bodies("ordered")) >= 200 })
	testwait.Until(t, "everything is recorded", func() bool {
		return slices.Equal(f.statuses(t), []string{"any delivered 1: 100", "ordered delivered 1: 100"})
	})
	f.wantAll(t, r, "any")
	f.wantAll(t, r, "ordered")
	if n := len(r.attempts("any")) + len(r.attempts("ordered")); n != 200 {
		t.Errorf("%d attempts, want 200", n)
	}
}

// Each delivery fails twice, so that the events behind it have time to pass it.
func TestCourier_KeepsTheOrderOfAnAggregateWhileAttemptsFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "ordered")
	r := newReceivers(answers{"ordered": func(ctx context.Context, a webhook.Attempt) webhook.Outcome {
		if a.Number < 3 {
			return fails(500)(ctx, a)
		}
		return webhook.Outcome{Status: 204}
	}})
	for range 2 {
		f.start(t, r, f.retryAtOnce(t))
	}

	f.addEvents(t, 10, 8)

	testwait.Until(t, "everything is recorded", func() bool { return slices.Equal(f.statuses(t), []string{"ordered delivered 3: 80"}) })
	f.wantAll(t, r, "ordered")
	wantOrder(t, r.bodies("ordered"))
}

// An event that was given up no longer blocks the ones behind it.
func TestCourier_GivesUpAfterTenAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "ordered")
	var first sync.Map
	r := newReceivers(answers{"ordered": func(ctx context.Context, a webhook.Attempt) webhook.Outcome {
		if id, _ := first.LoadOrStore("id", a.EventID); id == a.EventID {
			return fails(500)(ctx, a)
		}
		return webhook.Outcome{Status: 200}
	}})
	f.start(t, r, f.retryAtOnce(t))

	f.addEvents(t, 1, 2)

	want := []string{"ordered delivered 1: 1", "ordered failed 10: 1"}
	testwait.Until(t, "both have ended", func() bool { return cmp.Equal(want, f.statuses(t)) })
	if got := r.attempts("ordered"); len(got) != 11 || got[9].EventID == got[10].EventID {
		t.Errorf("%d attempts, want ten of the first event before one of the second", len(got))
	}
}

func TestCourier_EndsItsAttemptsWhenItStops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "slow")
	f.addEvents(t, 1, 1)
	begun, release := make(chan struct{}), make(chan struct{})
	r := newReceivers(answers{"slow": func(ctx context.Context, _ webhook.Attempt) webhook.Outcome {
		close(begun)
		<-release
		if ctx.Err() != nil {
			return webhook.Outcome{Failure: webhook.FailedConnection}
		}
		return webhook.Outcome{Status: 200}
	}})
	var released sync.Once
	t.Cleanup(func() { released.Do(func() { close(release) }) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	courier := &webhook.Courier{
		Queue: f.Deliveries(), Sender: r, Record: (&webhook.Service{Store: f.Webhooks()}).RecordAttempts,
		Failed: func(err error) { t.Log(err) },
	}
	go func() { defer close(ended); courier.Run(ctx) }()
	<-begun

	stop()
	released.Do(func() { close(release) })
	<-ended

	if diff := cmp.Diff([]string{"slow delivered 1: 1"}, f.statuses(t)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}
