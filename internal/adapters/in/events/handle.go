package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// What a dead message tells beside its body.
const (
	// HeaderReason is a stable code: [CodeUnreadable] or the refusal's of the use case.
	HeaderReason = "Orders-Reason"
	// HeaderDetail says it in words.
	HeaderDetail = "Orders-Detail"
	// HeaderSubject and HeaderSequence are where the message was.
	HeaderSubject  = "Orders-Original-Subject"
	HeaderSequence = "Orders-Original-Sequence"
	// HeaderDeliveries is how often it was delivered.
	HeaderDeliveries = "Orders-Deliveries"
	// HeaderMessageID is the sender's id for the message, if there was one.
	HeaderMessageID = "Orders-Message-Id"
)

// CodeUnreadable is the reason of a message that is not what the contract says.
const CodeUnreadable = "unreadable_message"

const (
	// source is what the warehouse's ids are noted under.
	source = "warehouse"
	// maxQuantity keeps the sum of any plausible number of messages in range.
	maxQuantity = 1_000_000_000
	// maxDeadBody leaves room for headers below the broker's limit. What was longer than
	// this was no message of ours.
	maxDeadBody = 64 << 10
	maxDelay    = time.Minute
)

// poison is why a message can never be done.
type poison struct{ code, detail string }

// Error gives the code and the detail.
func (p *poison) Error() string { return p.code + ": " + p.detail }

// handle brings one message to an end: done, dead, or to be delivered again.
func (c *Consumer) handle(ctx context.Context, msg jetstream.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	err := c.attempt(ctx, msg)
	if dead, ok := errors.AsType[*poison](err); ok {
		err = c.bury(ctx, msg, dead)
	}
	if err == nil {
		return
	}
	c.Log.Warn().Err(err).Uint64("deliveries", deliveries(msg)).Msg("a message will be tried again")
	_ = msg.NakWithDelay(delay(deliveries(msg))) // if this is lost, it comes back after AckWait
}

// attempt does what the message says and acknowledges it. Meanwhile the broker is told
// that it is in work.
func (c *Consumer) attempt(ctx context.Context, msg jetstream.Msg) error {
	cmd, err := decode(msg)
	if err != nil {
		return err
	}
	stop := keepAlive(msg, c.AckWait/3)
	err = c.restock(ctx, cmd)
	stop()
	if fault, refused := errors.AsType[*core.Fault](err); refused {
		return &poison{string(fault.Code), fault.Detail}
	}
	if err != nil {
		return err
	}
	return msg.Ack()
}

// restock calls the use case. A panic must not take the process with it, again at each
// delivery.
func (c *Consumer) restock(ctx context.Context, cmd order.Restock) (err error) {
	defer func() {
		if recover() != nil {
			c.Log.Error().Bytes("stack", debug.Stack()).Msg("panic")
			err = errors.New("panic")
		}
	}()
	return c.Restock(ctx, cmd)
}

// keepAlive renews the acknowledgement's deadline until the returned function is called.
func keepAlive(msg jetstream.Msg, every time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = msg.InProgress() // the next tick is in time, too
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// bury puts the message where a person will find it (R-DIST-COMP), and only then takes
// it off the stream. Doing it twice leaves one: its place in the stream names it.
func (c *Consumer) bury(ctx context.Context, msg jetstream.Msg, why *poison) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read the place of a message: %w", err)
	}
	dead := nats.NewMsg(DeadSubject)
	dead.Data = msg.Data()[:min(len(msg.Data()), maxDeadBody)]
	place := strconv.FormatUint(meta.Sequence.Stream, 10)
	for name, value := range map[string]string{
		HeaderReason: why.code, HeaderDetail: why.detail,
		HeaderSubject: msg.Subject(), HeaderSequence: place,
		HeaderDeliveries: strconv.FormatUint(meta.NumDelivered, 10),
		HeaderMessageID:  msg.Headers().Get(jetstream.MsgIDHeader),
	} {
		if value != "" {
			dead.Header.Set(name, value)
		}
	}
	if _, err := c.js.PublishMsg(ctx, dead, jetstream.WithMsgID(Stream+"-"+place)); err != nil {
		return fmt.Errorf("put a message into %s: %w", DeadStream, err)
	}
	c.Log.Error().Str("reason", why.code).Str("detail", why.detail).Str("sequence", place).Msg("a message is dead")
	return msg.TermWithReason(why.code)
}

// restocked is the message on the wire; see api/asyncapi.yaml.
type restocked struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

var (
	goodID  = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	goodSKU = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// decode reads a message. Members that it does not know may come with later versions.
func decode(msg jetstream.Msg) (order.Restock, error) {
	var m restocked
	if json.Unmarshal(msg.Data(), &m) != nil {
		return order.Restock{}, &poison{CodeUnreadable, "not a JSON object with id, sku and quantity"}
	}
	m.ID = cmp.Or(m.ID, msg.Headers().Get(jetstream.MsgIDHeader))
	switch {
	case !goodID.MatchString(m.ID):
		return order.Restock{}, &poison{CodeUnreadable, "no id of 1 to 255 visible ASCII characters"}
	case !goodSKU.MatchString(m.SKU):
		return order.Restock{}, &poison{CodeUnreadable, "the sku is not one"}
	case m.Quantity > maxQuantity:
		return order.Restock{}, &poison{CodeUnreadable, "the quantity is above 1000000000"}
	}
	return order.Restock{SKU: m.SKU, Quantity: m.Quantity, Source: source, MessageID: m.ID}, nil
}

func deliveries(msg jetstream.Msg) uint64 {
	meta, err := msg.Metadata()
	if err != nil {
		return 1
	}
	return meta.NumDelivered
}

// delay doubles from a second with each delivery, and is random, so that messages that
// failed together do not come back together.
func delay(delivered uint64) time.Duration {
	d := min(time.Second<<min(delivered-1, 10), maxDelay)
	return d/2 + rand.N(d/2)
}
