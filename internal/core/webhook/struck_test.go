package webhook_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/core/webhook"
	testwait "example.com/orders/internal/test/wait"
)

var errStruck = errors.New("struck")

// replica is a courier that a fault strikes at one step of its deliveries.
type replica struct {
	webhook.Queue
	webhook.Sender

	fault func(r *replica, call func() error) error
	step  string
	f     *fixture
	t     *testing.T
	// strikes counts the faults. After its death, a replica does nothing.
	strikes atomic.Int64
	dead    atomic.Bool
}

// faults strike around the call of a step, and return its error.
var faults = map[string]func(r *replica, call func() error) error{
	"dies before":  func(r *replica, _ func() error) error { r.dead.Store(true); return errStruck },
	"dies after":   func(r *replica, call func() error) error { _ = call(); r.dead.Store(true); return errStruck },
	"hangs before": func(r *replica, _ func() error) error { <-r.t.Context().Done(); return errStruck },
	"hangs after":  func(r *replica, call func() error) error { _ = call(); <-r.t.Context().Done(); return errStruck },
	"loses its connections before": func(r *replica, call func() error) error {
		r.f.execute(r.t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename <> current_user`)
		return call()
	},
}

// at runs a step, which the fault strikes three times.
func (r *replica) at(step string, call func() error) error {
	switch {
	case r.dead.Load():
		return errStruck
	case step == r.step && r.strikes.Add(1) <= 3:
		return r.fault(r, call)
	}
	return call()
}

func (r *replica) Dispatch(ctx context.Context, limit int) (events int, err error) {
	err = r.at("dispatch", func() error { events, err = r.Queue.Dispatch(ctx, limit); return err })
	return events, err
}

func (r *replica) Claim(ctx context.Context, id int64, limit int, d time.Duration) (claimed []webhook.Attempt, err error) {
	var found []webhook.Attempt
	if err = r.at("claim", func() error { found, err = r.Queue.Claim(ctx, id, limit, d); return err }); err == nil {
		claimed = found
	}
	return claimed, err
}

func (r *replica) Send(ctx context.Context, a webhook.Attempt) (o webhook.Outcome) {
	err := r.at("send", func() error { o = r.Sender.Send(ctx, a); return nil })
	if err != nil {
		o = webhook.Outcome{Failure: webhook.FailedConnection}
	}
	return o
}

// Two replicas share the work, and one of them is struck. The other one, and the next attempt,
// deliver everything.
func TestCourier_MissesNothingWhenAReplicaIsStruck(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"dispatch", "claim", "send", "record"} {
		for name, fault := range faults {
			t.Run(name+" "+step, func(t *testing.T) {
				t.Parallel()
				const orders, events = 5, 6
				f := newFixture(t)
				f.addEndpoints(t, "any", "ordered")
				f.addEvents(t, orders, events)
				receivers := newReceivers(nil)
				struck := &replica{fault: fault, step: step, f: f, t: t}
				f.start(t, receivers, func(c *webhook.Courier) {
					struck.Queue, struck.Sender, c.Queue, c.Sender = c.Queue, c.Sender, struck, struck
					record := c.Record
					c.Record = func(ctx context.Context, endpointID int64, ended []webhook.Ended) error {
						return struck.at("record", func() error { return record(ctx, endpointID, ended) })
					}
				})
				testwait.Until(t, "the replica is struck", func() bool { return struck.strikes.Load() > 0 })

				f.start(t, receivers)

				testwait.Until(t, "everything is delivered", func() bool {
					f.letRetry(t)
					return len(f.read(t, "SELECT 1::text FROM webhook_delivery WHERE status = 'delivered'")) == 2*orders*events
				})
				f.wantAll(t, receivers, "any")
				f.wantAll(t, receivers, "ordered")
				wantOrder(t, receivers.bodies("ordered"))
			})
		}
	}
}
