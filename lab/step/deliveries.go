package step

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/orders/internal/core/webhook"
)

// The receivers. The first one wants the events of an order in their order.
const (
	orderedReceiver = "https://ordered.example"
	receiver        = "https://all.example"
)

// subscribe creates a webhook endpoint.
func subscribe(url string, ordered bool, pattern string) *command {
	return &command{name: "createWebhookEndpoint " + url, by: admin,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			_, err := s.webhooks.CreateEndpoint(ctx, c.by, webhook.CreateEndpoint{URL: url, EventTypes: []string{pattern}, Ordered: ordered})
			return "created", err
		}}
}

// deliver is a turn of the courier. The first attempts at an endpoint count as lost after a
// while of the server's clock: never during a run, or at once, so that two attempts meet.
func deliver(name string, lost time.Duration) *command {
	return &command{name: name, by: admin,
		run: func(_ context.Context, s *service, _ names, _ *command) (string, error) {
			if s.deliver != nil {
				s.deliver(lost)
			}
			return "delivered", nil
		}}
}

// turn ends the courier when no delivery is due.
type turn struct {
	webhook.Queue
	lost    time.Duration
	end     func()
	open    atomic.Int32 // endpoints
	claimed sync.Map     // endpoints
}

// EndpointsDue implements [webhook.Queue], in the order of the ids.
func (t *turn) EndpointsDue(ctx context.Context, limit int) ([]int64, error) {
	ids, err := t.Queue.EndpointsDue(ctx, limit)
	slices.Sort(ids)
	t.open.Store(int32(len(ids)))
	if len(ids) == 0 {
		t.end()
	}
	return ids, err
}

// Claim implements [webhook.Queue].
func (t *turn) Claim(ctx context.Context, endpointID int64, limit int, lost time.Duration) ([]webhook.Attempt, error) {
	if _, again := t.claimed.LoadOrStore(endpointID, nil); !again {
		lost = t.lost
	}
	attempts, err := t.Queue.Claim(ctx, endpointID, limit, lost)
	if len(attempts) == 0 && t.open.Add(-1) == 0 {
		t.end()
	}
	return attempts, err
}

// courier returns a replica's turns.
func (r *run) courier(replica string, queue webhook.Queue, s *webhook.Service) func(lost time.Duration) {
	return func(lost time.Duration) {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		courier := &webhook.Courier{
			Queue: &turn{Queue: queue, lost: lost, end: end}, Sender: sender{r, replica}, Record: s.RecordAttempts,
			Failed: func(error) {}, // a later turn repeats it
		}
		courier.Run(ctx)
	}
}

// sender returns the result that a step chooses.
type sender struct {
	r       *run
	replica string
}

// sending is a request to a receiver.
type sending struct {
	webhook.Attempt
	replica string
	name    string // such as s1
	ended   chan webhook.Outcome
}

// Send implements [webhook.Sender].
func (s sender) Send(_ context.Context, a webhook.Attempt) webhook.Outcome {
	asked := &sending{Attempt: a, replica: s.replica, ended: make(chan webhook.Outcome, 1)}
	s.r.mu.Lock()
	s.r.sendings = append(s.r.sendings, asked)
	s.r.mu.Unlock()
	select {
	case outcome := <-asked.ended:
		return outcome
	case <-time.After(15 * time.Second): // a run that failed is over
		return webhook.Outcome{Failure: webhook.FailedTimeout}
	}
}

// unanswered returns the requests without an answer. Those that were sent at one moment have the
// order of their deliveries.
func (r *run) unanswered() []*sending {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.sendings, func(a, b *sending) int {
		if a.name != "" || b.name != "" {
			return 0
		}
		return cmp.Or(cmp.Compare(a.DeliveryID, b.DeliveryID), cmp.Compare(a.Number, b.Number))
	})
	for _, s := range r.sendings {
		if s.name == "" {
			r.named++
			s.name = fmt.Sprint("s", r.named)
		}
	}
	return slices.Clone(r.sendings)
}

// receipt is an event that a receiver has got.
type receipt struct{ url, event string }

// answer ends a request: the receiver gets the event and answers, gets it although the
// answer is lost, or refuses it.
func (r *run) answer(verb, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.sendings, func(s *sending) bool { return s.name == name })
	s := r.sendings[i]
	r.sendings = slices.Delete(r.sendings, i, i+1)
	outcome := webhook.Outcome{Status: 200}
	switch verb {
	case "lose":
		outcome = webhook.Outcome{Failure: webhook.FailedTimeout}
	case "refuse":
		outcome = webhook.Outcome{Status: 503, Failure: webhook.FailedStatus}
	}
	if verb != "refuse" {
		r.received = append(r.received, receipt{s.URL, s.EventID})
	}
	r.note(strings.TrimPrefix(s.URL, "https://"), s.replica, fmt.Sprintf("%ss %s, attempt %d", verb, s.name, s.Number))
	s.ended <- outcome
}

// subscribed lists which events belong to which endpoint, in their order, and the state of
// their deliveries.
const subscribed = `
	SELECT format('%s %s %s %s', e.url, o.aggregate, o.event_id,
		coalesce(d.status, CASE WHEN o.dispatched_at IS NULL THEN 'later' ELSE 'forgotten' END))
	FROM webhook_endpoint e JOIN outbox o ON o.created_at >= e.created_at AND (o.type LIKE 'order.%' OR NOT e.ordered)
	LEFT JOIN webhook_delivery d ON d.endpoint_id = e.id AND d.event_id = o.event_id
	ORDER BY e.id, o.id`

// checkDeliveries checks that receivers got all deliveries, and that a receiver which
// drops repeats has the events of an order in their order.
func (r *run) checkDeliveries(lines []string) {
	type event struct {
		aggregate string
		n         int
	}
	events, written, seen := map[receipt]event{}, map[string]int{}, map[string]int{}
	for _, line := range lines {
		part := strings.Fields(line)
		got, aggregate, status := receipt{part[0], part[2]}, part[1], part[3]
		if status == "forgotten" || status == "delivered" && !slices.Contains(r.received, got) {
			r.found = append(r.found, fmt.Sprintf("an event of %s is %s, and %s has not received it", aggregate, status, got.url))
		}
		events[got] = event{aggregate, written[got.url+aggregate]}
		written[got.url+aggregate]++
	}
	for _, got := range r.received {
		e, committed := events[got]
		switch {
		case !committed:
			r.found = append(r.found, got.url+" received an event that was not committed")
		case got.url == orderedReceiver && e.n > seen[e.aggregate]:
			r.found = append(r.found, fmt.Sprintf("%s received event %d of %s after event %d", got.url, e.n+1, e.aggregate, seen[e.aggregate]))
		case got.url == orderedReceiver:
			seen[e.aggregate] = max(seen[e.aggregate], e.n+1)
		}
	}
}
