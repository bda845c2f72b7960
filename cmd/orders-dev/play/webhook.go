package play

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/orders/internal/dev/receiver"
)

// loseWebhook loses the answer to a webhook after the shop has acted on the event.
func (p *play) loseWebhook(ctx context.Context) error {
	var sent, acted atomic.Int32
	endpoint, stop, err := p.openEndpoint(ctx, func(e receiver.Event) {
		attempt := sent.Add(1)
		if e.Repeat {
			p.note("Attempt %d: %s comes with the same ID, %s. The shop drops it as a repeat, and answers.", attempt, e.Type, e.ID)
			return
		}
		acted.Add(1)
		p.fault("Attempt %d: the shop acts on %s with the ID %s. The answer is lost, so the service has to send again.", attempt, e.Type, e.ID)
		panic(http.ErrAbortHandler) // closes the connection
	})
	if err != nil {
		return err
	}
	defer stop()
	p.note("A customer orders tea. The shop has a webhook endpoint, which gets the event.")
	if _, err := p.order(ctx); err != nil {
		return err
	}
	var delivered struct{ Data []any }
	if err := poll(ctx, "the webhook is delivered", func() (bool, error) {
		err := p.client.must(ctx, &delivered, http.MethodGet, endpoint+"/deliveries?status=delivered", p.sellerToken, "", "")
		return len(delivered.Data) > 0, err
	}); err != nil {
		return err
	}
	p.report(Entry{Kind: "verdict", Payment: p.op.number, Right: sent.Load() == 2 && acted.Load() == 1,
		Text: fmt.Sprintf("The event is delivered after %d attempts, and the shop acted on it %s.", sent.Load(), times(int(acted.Load())))})
	return nil
}

// openEndpoint receives new orders at an endpoint of the shop until stop.
func (p *play) openEndpoint(ctx context.Context, take func(receiver.Event)) (endpoint string, stop func(), err error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	all, body := p.replicas[1].url()+"/webhook-endpoints", fmt.Sprintf(`{"url": "http://%s", "event_types": ["order.created"]}`, ln.Addr())
	var created struct {
		ID     int64
		Secret string
	}
	if err := p.client.must(ctx, &created, http.MethodPost, all, p.sellerToken, "", body); err != nil {
		return "", nil, errors.Join(err, ln.Close())
	}
	server := &http.Server{Handler: receiver.Handler(created.Secret, take), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(ln) }()
	endpoint = fmt.Sprintf("%s/%d", all, created.ID)
	return endpoint, func() {
		_, _ = p.client.call(ctx, http.MethodDelete, endpoint, p.sellerToken, "", "")
		_ = server.Close()
	}, nil
}
