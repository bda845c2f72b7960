package webhook

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// places is how many attempts an endpoint has in flight in one process. One that hangs
	// takes no place from another.
	places = 8
	// maxEndpoints is how many endpoints have attempts in flight in one process, and turn
	// how long one gets new attempts before another may take its place.
	maxEndpoints = 256
	turn         = 10 * time.Second
	// maxEvents is how many events get their deliveries at once.
	maxEvents = 500
	// pollInterval is the maximum delay for a due delivery, and failurePause that after the
	// queue has failed.
	pollInterval = 250 * time.Millisecond
	failurePause = time.Second
	// lostAfter is when an attempt that is not recorded counts as lost, because its process
	// has died. The longest one takes 15 s.
	lostAfter     = time.Minute
	recordTimeout = 5 * time.Second
)

// Queue holds the deliveries. Each call commits by itself, so that no transaction is open
// during an attempt.
type Queue interface {
	// Dispatch writes deliveries for up to limit outbox events that have none yet, first ones
	// first, and returns how many events it read.
	Dispatch(ctx context.Context, limit int) (int, error)
	// EndpointsDue returns up to limit enabled endpoints with a due delivery, in random
	// order, so that each gets its turn.
	EndpointsDue(ctx context.Context, limit int) ([]int64, error)
	// Claim counts an attempt for up to limit due deliveries each, oldest first, and returns
	// them, unless the endpoint is disabled. They are due again after d. For an ordered
	// endpoint it claims no delivery that follows a pending one of its aggregate.
	Claim(ctx context.Context, endpointID int64, limit int, d time.Duration) ([]Attempt, error)
}

// Courier carries outbox events to endpoints. Every replica runs one.
//
// It promises that each delivery is attempted at least once. A process that dies between
// an attempt and its record leaves a delivery that is due again, under the same event id.
type Courier struct {
	Queue  Queue
	Sender Sender
	// Record records attempts at one endpoint.
	Record func(ctx context.Context, endpointID int64, attempts []Ended) error
	// Failed receives errors from Queue and Record.
	Failed func(error)

	running sync.WaitGroup
	busy    sync.Map // endpoint ids
	seats   chan struct{}
}

// Run begins attempts until ctx ends, and returns when they have ended.
func (c *Courier) Run(ctx context.Context) {
	c.seats = make(chan struct{}, maxEndpoints)
	for ctx.Err() == nil {
		wait := pollInterval
		events, failed := c.Queue.Dispatch(ctx, maxEvents)
		due, err := c.Queue.EndpointsDue(ctx, maxEndpoints)
		for _, id := range due {
			c.serve(ctx, id)
		}
		if err := errors.Join(failed, err); err != nil {
			c.report(ctx, err)
			wait = failurePause
		} else if events == maxEvents {
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	c.running.Wait()
}

// serve sends the deliveries of an endpoint, unless that goes on already or too many
// endpoints have their turn.
func (c *Courier) serve(ctx context.Context, endpointID int64) {
	if _, busy := c.busy.LoadOrStore(endpointID, nil); busy {
		return
	}
	select {
	case c.seats <- struct{}{}:
	default:
		c.busy.Delete(endpointID)
		return
	}
	c.running.Go(func() {
		defer func() { c.busy.Delete(endpointID); <-c.seats }()
		c.drain(ctx, endpointID)
	})
}

// drain sends the due deliveries of an endpoint for a turn. Attempts that have begun end, and
// are recorded, also after ctx has ended.
func (c *Courier) drain(ctx context.Context, endpointID int64) {
	claiming, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	ctx = context.WithoutCancel(ctx)
	for claiming.Err() == nil {
		attempts, err := c.Queue.Claim(claiming, endpointID, places, lostAfter)
		if err != nil {
			c.report(claiming, err)
		}
		if len(attempts) == 0 {
			return
		}
		ended := make([]Ended, len(attempts))
		var sent sync.WaitGroup
		for i, a := range attempts {
			sent.Go(func() { ended[i] = Ended{a, c.Sender.Send(ctx, a)} })
		}
		sent.Wait()
		recording, cancel := context.WithTimeout(ctx, recordTimeout)
		if err := c.Record(recording, endpointID, ended); err != nil {
			c.Failed(err)
		}
		cancel()
	}
}

// report reports an error, unless ctx has ended.
func (c *Courier) report(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.Failed(err)
	}
}
