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

const webhooksUsage = `usage: orders webhooks list|show|retry|disable

  list                          up to 100 endpoints with pending deliveries, failing or disabled
  show ID                       the last 100 deliveries of an endpoint
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
	var from time.Time
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
	return operate(ctx, backlog{
		noun: "WebhookEndpoint", list: db.ListEndpoints, show: db.ShowEndpoint,
		change: change, verbs: []string{"retry", "disable"},
		options: func(flags *flag.FlagSet) {
			flags.Func("from", "", func(text string) (err error) {
				from, err = time.Parse(time.RFC3339, text)
				return err
			})
		},
	}, args, out)
}
