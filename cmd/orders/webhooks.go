package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

const webhooksUsage = `usage: orders webhooks list|retry|disable

  list                          up to 100 endpoints that wait, fail or are disabled
  retry -actor NAME ID...       attempt the failed deliveries of endpoints again; with
                                -from TIME, such as 2026-01-31T15:00:00Z, all deliveries of
                                events since then that have ended, also in success
  disable -actor NAME ID...     let endpoints wait until their owner enables them
` + changeUsage

func operateWebhooks(ctx context.Context, args, environ []string, out io.Writer) error {
	_, db, err := openOperation(ctx, environ)
	if err != nil {
		return err
	}
	defer db.Close()
	var flags flag.FlagSet
	var from time.Time
	flags.TextVar(&from, "from", from, "")
	change := func(ctx context.Context, verb string, e core.AuditEntry, id int64) error {
		e.Resource = webhook.Resource(id)
		switch {
		case verb == "retry":
			return db.RetryDeliveries(ctx, e, id, from)
		case !from.IsZero():
			return errors.New("-from is for retry")
		}
		return db.DisableEndpoint(ctx, e, id)
	}
	return operate(ctx, backlog{"WebhookEndpoint", []string{"retry", "disable"}, db.ListEndpoints, nil, change}, &flags, args, out)
}
