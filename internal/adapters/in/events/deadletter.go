package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/streams"
)

// The headers of a dead letter. Its body and its CloudEvents attributes are the message's.
const (
	// HeaderReason is a stable code: [CodeUnreadable] or the code of the use case's
	// fault.
	HeaderReason = "Orders-Reason"
	// HeaderDetail explains the reason in words.
	HeaderDetail = "Orders-Detail"
	// HeaderSubject and HeaderSequence locate the original message.
	HeaderSubject  = "Orders-Original-Subject"
	HeaderSequence = "Orders-Original-Sequence"
	// HeaderDeliveries counts the message's deliveries.
	HeaderDeliveries = "Orders-Deliveries"
	// HeaderMessageID is the sender's message id, if any.
	HeaderMessageID = "Orders-Message-Id"
)

// CodeUnreadable is the reason for a message that does not follow api/asyncapi.yaml.
const CodeUnreadable = "unreadable_message"

// maxDeadLetterBody leaves room for the headers below the broker's limit. Longer
// messages are cut; the warehouse sends short ones.
const maxDeadLetterBody = 64 << 10

// unprocessable explains why a message can never be processed.
type unprocessable struct{ code, detail string }

func unreadable(detail string) *unprocessable { return &unprocessable{CodeUnreadable, detail} }

func (u *unprocessable) Error() string { return u.code + ": " + u.detail }

// deadLetter moves a message to the dead-letter stream for operators (R-DIST-COMP). It
// terminates the message only after the broker has acknowledged the dead letter. On a
// second run the broker drops the duplicate, whose id is the message's stream position.
func (c *Consumer) deadLetter(ctx context.Context, msg jetstream.Msg, reason *unprocessable) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read the metadata of a message: %w", err)
	}
	sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
	letter := nats.NewMsg(DeadLetterSubject)
	letter.Data = msg.Data()[:min(len(msg.Data()), maxDeadLetterBody)]
	for name, values := range msg.Headers() {
		if strings.HasPrefix(strings.ToLower(name), attributePrefix) {
			letter.Header[name] = values
		}
	}
	for name, value := range map[string]string{
		HeaderReason:     reason.code,
		HeaderDetail:     reason.detail,
		HeaderSubject:    msg.Subject(),
		HeaderSequence:   sequence,
		HeaderDeliveries: strconv.FormatUint(meta.NumDelivered, 10),
		HeaderMessageID:  msg.Headers().Get(jetstream.MsgIDHeader),
	} {
		if value != "" {
			letter.Header.Set(name, value)
		}
	}
	if _, err := c.js.PublishMsg(ctx, letter, jetstream.WithMsgID(Stream+"-"+sequence)); err != nil {
		return fmt.Errorf("publish a dead letter to %s: %w", DeadLetterStream, err)
	}
	inTrace(ctx, c.cfg.Log.Error()).Str("reason", reason.code).Str("detail", reason.detail).
		Str("sequence", sequence).Msg("message dead-lettered")
	return msg.TermWithReason(reason.code)
}

// DeadLetters is the dead-letter stream, for operators.
type DeadLetters struct {
	jetstream.Stream
	js jetstream.JetStream
}

// OpenDeadLetters opens the stream. It fails at once without a broker.
func OpenDeadLetters(ctx context.Context, conn *nats.Conn) (l DeadLetters, err error) {
	if err = streams.CheckConnection(conn); err != nil {
		return l, err
	}
	if l.js, err = jetstream.New(conn); err == nil {
		l.Stream, err = l.js.Stream(ctx, DeadLetterStream)
	}
	return l, err
}

// Resend sends a dead letter's message to the consumer again, and then deletes the dead
// letter. A second call has no second effect: the inbox knows the message.
func (l DeadLetters) Resend(ctx context.Context, letter *jetstream.RawStreamMsg) error {
	if len(letter.Data) == maxDeadLetterBody {
		return errors.New("the message was longer and is cut: let its sender send it again")
	}
	_, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: Subject, Header: letter.Header, Data: letter.Data})
	if err != nil {
		return err
	}
	return l.DeleteMsg(ctx, letter.Sequence)
}
