package events

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of a dead letter; its body is that of the message.
const (
	// HeaderReason is a stable code: [CodeUnreadable] or the code of the use case's
	// fault.
	HeaderReason = "Orders-Reason"
	// HeaderDetail says the same in words.
	HeaderDetail = "Orders-Detail"
	// HeaderSubject and HeaderSequence say where the message was.
	HeaderSubject  = "Orders-Original-Subject"
	HeaderSequence = "Orders-Original-Sequence"
	// HeaderDeliveries is how often the message was delivered.
	HeaderDeliveries = "Orders-Deliveries"
	// HeaderMessageID is the sender's id of the message, if it had one.
	HeaderMessageID = "Orders-Message-Id"
)

// CodeUnreadable is the reason of a message that does not follow api/asyncapi.yaml.
const CodeUnreadable = "unreadable_message"

// maxDeadLetterBody leaves room for the headers below the broker's limit. A dead letter
// has only the beginning of a longer message; the messages of the warehouse are short.
const maxDeadLetterBody = 64 << 10

// unprocessable is why a message can never be processed.
type unprocessable struct{ code, detail string }

func unreadable(detail string) *unprocessable { return &unprocessable{CodeUnreadable, detail} }

// Error returns code and detail.
func (u *unprocessable) Error() string { return u.code + ": " + u.detail }

// deadLetter moves a message to the dead-letter stream, where an operator finds it
// (R-DIST-COMP). It ends the message only after the broker has acknowledged the dead
// letter. If it runs twice, the broker drops the second dead letter: its id is the
// position of the message in its stream.
func (c *Consumer) deadLetter(ctx context.Context, msg jetstream.Msg, reason *unprocessable) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read the metadata of a message: %w", err)
	}
	sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
	letter := nats.NewMsg(DeadLetterSubject)
	letter.Data = msg.Data()[:min(len(msg.Data()), maxDeadLetterBody)]
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
