package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core"
)

const deadLettersUsage = `usage: orders dead-letters list|show|retry|discard

  list                          the oldest 100 messages that could not be processed, with the reasons
  show ID                       a message with its headers
  retry -actor NAME ID...       let the running service process messages, once their cause has gone
  discard -actor NAME ID...     delete messages

ORDERS_NATS_URL names the broker.
` + changeUsage

func operateDeadLetters(ctx context.Context, args, environ []string, out io.Writer) error {
	cfg, db, err := openOperation(ctx, environ, config.BrokerSettings...)
	if err != nil {
		return err
	}
	defer db.Close()
	if len(cfg.NATSURLs) == 0 {
		return errors.New("ORDERS_NATS_URL is not set: it names the broker")
	}
	conn, err := app.ConnectBroker(outnats.Operators, cfg, zerolog.Nop())
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := events.OpenDeadLetters(ctx, conn)
	if err != nil {
		return err
	}
	l := letters{stream, db}
	return operate(ctx, backlog{"DeadLetter", showRetryDiscard, l.list, l.show, l.change}, new(flag.FlagSet), args, out)
}

type letters struct {
	events.DeadLetters
	db *postgres.DB
}

func (l letters) list(ctx context.Context) (rows [][]string, err error) {
	subject := jetstream.WithGetMsgSubject(events.DeadLetterSubject)
	msg, err := l.GetMsg(ctx, 1, subject)
	for ; err == nil && len(rows) < 100; msg, err = l.GetMsg(ctx, msg.Sequence+1, subject) {
		rows = append(rows, []string{fmt.Sprint(msg.Sequence), msg.Time.UTC().Format(time.DateTime),
			msg.Header.Get(events.HeaderReason), msg.Header.Get(events.HeaderDetail)})
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return rows, err
}

func (l letters) show(ctx context.Context, id int64) ([][]string, error) {
	msg, err := l.GetMsg(ctx, uint64(id))
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"Body", fmt.Sprintf("%q", msg.Data)}}
	for name := range msg.Header {
		rows = append(rows, []string{name, fmt.Sprintf("%q", msg.Header.Get(name))})
	}
	return rows, nil
}

// change adds the audit entry first: no transaction spans database and broker, and a
// change without an entry would be worse than an entry without a change.
func (l letters) change(ctx context.Context, verb string, e core.AuditEntry, id int64) error {
	msg, err := l.GetMsg(ctx, uint64(id))
	if err == nil {
		err = l.db.AuditOperation(ctx, e)
	}
	switch {
	case err != nil:
		return err
	case verb == "retry":
		return l.Retry(ctx, msg.Sequence)
	}
	return l.DeleteMsg(ctx, msg.Sequence)
}
