package events

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/core"
)

// The headers of a dead letter. Body and CloudEvents attributes are those of the
// message.
const (
	// HeaderReason is a stable code: [CodeUnreadable], [CodeForgotten] or the fault
	// code of the use case.
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

// The reasons that are no faults.
const (
	// CodeUnreadable: the message does not follow api/asyncapi.yaml.
	CodeUnreadable = "unreadable_message"
	// CodeForgotten: the message may have been processed before.
	CodeForgotten = "forgotten_message"
)

// maxDeadLetterBody leaves room for the headers below the broker limit. Longer messages
// are cut; the warehouse sends short ones.
const maxDeadLetterBody = 64 << 10

// unprocessable explains why a message can never be processed.
type unprocessable struct{ code, detail string }

func unreadable(detail string) *unprocessable { return &unprocessable{CodeUnreadable, detail} }

// refusal explains a fault, with the details of its members.
func refusal(f *core.Fault) *unprocessable {
	if len(f.Fields) == 0 {
		return &unprocessable{string(f.Code), f.Detail}
	}
	details := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		details[i] = field.Pointer + ": " + field.Detail
	}
	return &unprocessable{string(f.Code), strings.Join(details, "; ")}
}

func (u *unprocessable) Error() string { return u.code + ": " + u.detail }

// deadLetter moves a message to the dead-letter stream for operators (R-DIST-COMP). It
// terminates the message only after the broker has acknowledged the dead letter. On a
// second run the broker drops the duplicate: the id is the message's stream position.
func (c *Consumer) deadLetter(
	ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata, reason *unprocessable,
) error {
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
