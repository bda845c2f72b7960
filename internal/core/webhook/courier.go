package webhook

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// places is how many attempts an endpoint has in flight in one process. One that hangs
	// takes no place from another.
	places = 8
	// maxEndpoints is how many endpoints have attempts in flight in one process.
	maxEndpoints = 256
	// turn is how long an endpoint gets new attempts before another may take its turn.
	turn = 10 * time.Second
	// pollInterval is the maximum delay of a due delivery, and failurePause that after a
	// failure of the queue.
	pollInterval = 250 * time.Millisecond
	failurePause = time.Second
	// lostAfter is when an attempt that is not recorded counts as lost, because its process
	// has died. The longest one takes 15 s.
	lostAfter = time.Minute
	// recordTimeout bounds a record, which also runs during shutdown.
	recordTimeout = 5 * time.Second
)

// Queue holds the deliveries that are due. Each call commits by itself, so that no
// transaction is open during an attempt.
type Queue interface {
	// EndpointsDue returns up to limit enabled endpoints with a due delivery, in random
	// order, so that each gets its turn.
	EndpointsDue(ctx context.Context, limit int) ([]int64, error)
	// Claim counts an attempt of each of up to limit due deliveries of an enabled endpoint,
	// oldest first, and returns them. They are due again after d. For an ordered endpoint it
	// claims no delivery that follows a pending one of its aggregate.
	Claim(ctx context.Context, endpointID int64, limit int, d time.Duration) ([]Attempt, error)
}

// Courier sends due deliveries. Every replica runs one.
//
// It promises that each delivery is attempted at least once. A process that dies between
// an attempt and its record leaves a delivery that is due again, under the same event id.
type Courier struct {
	Queue  Queue
	Sender Sender
	// Record records attempts of one endpoint.
	Record func(ctx context.Context, endpointID int64, attempts []Ended) error
	// Failed receives the errors of Queue and Record.
	Failed func(error)

	running sync.WaitGroup
	busy    sync.Map // endpoint ids
	seats   chan struct{}
}

// Run begins attempts until claiming ends. It returns when they have ended; the end of
// sending cuts them off.
func (c *Courier) Run(claiming, sending context.Context) {
	c.seats = make(chan struct{}, maxEndpoints)
	for claiming.Err() == nil {
		wait := pollInterval
		due, err := c.Queue.EndpointsDue(claiming, maxEndpoints)
		if err != nil {
			c.report(claiming, err)
			wait = failurePause
		}
		for _, id := range due {
			c.serve(claiming, sending, id)
		}
		select {
		case <-time.After(wait):
		case <-claiming.Done():
		}
	}
	c.running.Wait()
}

// serve sends the deliveries of an endpoint, unless that goes on already or too many
// endpoints have their turn.
func (c *Courier) serve(claiming, sending context.Context, endpointID int64) {
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
		c.drain(claiming, sending, endpointID)
	})
}

// drain keeps the places of an endpoint taken while deliveries are due.
func (c *Courier) drain(claiming, sending context.Context, endpointID int64) {
	ended := make(chan Ended, places)
	for inFlight, end := 0, time.Now().Add(turn); ; {
		if claiming.Err() == nil && time.Now().Before(end) {
			attempts, err := c.Queue.Claim(claiming, endpointID, places-inFlight, lostAfter)
			if err != nil {
				c.report(claiming, err)
			}
			for _, a := range attempts {
				inFlight++
				go func() { ended <- Ended{a, c.Sender.Send(sending, a)} }()
			}
		}
		if inFlight == 0 {
			return
		}
		batch := []Ended{<-ended}
		for len(ended) > 0 {
			batch = append(batch, <-ended)
		}
		inFlight -= len(batch)
		c.record(sending, endpointID, batch)
	}
}

// record records attempts, also after the shutdown has begun. Those that the shutdown cut
// off have no outcome.
func (c *Courier) record(sending context.Context, endpointID int64, batch []Ended) {
	if sending.Err() != nil {
		batch = slices.DeleteFunc(batch, func(e Ended) bool { return e.Failure != "" })
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(sending), recordTimeout)
	defer cancel()
	if err := c.Record(ctx, endpointID, batch); err != nil {
		c.Failed(err)
	}
}

// report reports an error, unless the shutdown is its cause.
func (c *Courier) report(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.Failed(err)
	}
}
