package main

import (
	"context"
	"slices"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/dev/receiver"
)

const receiverName = "receiver of orders-dev"

// openReceiver makes the receiver of the seller's events, which logs them. Runs may have
// different ports, and each needs a secret that it knows.
func (s *servers) openReceiver(ctx context.Context, hooks *webhook.Service) error {
	seller, url := core.Actor{Subject: seedSeller, Roles: []core.Role{core.Seller}}, s.serviceURL()+"/receiver"
	found, _, err := hooks.ListEndpoints(ctx, seller, core.Page{Limit: 100})
	if err != nil {
		return err
	}
	var e *webhook.Endpoint
	if i := slices.IndexFunc(found, func(e *webhook.Endpoint) bool { return e.Description == receiverName }); i < 0 {
		e, err = hooks.CreateEndpoint(ctx, seller, webhook.CreateEndpoint{URL: url, EventTypes: []string{"*"}, Description: receiverName})
	} else if _, err = hooks.UpdateEndpoint(ctx, seller, webhook.UpdateEndpoint{ID: found[i].ID, URL: &url}); err == nil {
		e, err = hooks.RotateSecret(ctx, seller, found[i].ID)
	}
	if log := app.NewLog(s.cfg, s.out); err == nil {
		s.receiver = receiver.Handler(e.NewSecret, func(e receiver.Event) {
			log.Info().Str("id", e.ID).Str("type", e.Type).Bool("repeat", e.Repeat).Msg("webhook received")
		})
	}
	return err
}
