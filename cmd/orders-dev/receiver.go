package main

import (
	"context"
	"net"
	"slices"

	"github.com/rs/zerolog"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/dev/receiver"
)

// receiverName is the description of the receiver's endpoint.
const receiverName = "receiver of orders-dev"

func (s *servers) receiverURL() string { return "http://" + s.receiverLn.Addr().String() }

// seedEndpoint creates the seller's endpoint in the first run. Each run has another port,
// and needs a secret that it knows.
func (s *servers) seedEndpoint(ctx context.Context, hooks *webhook.Service) error {
	seller, url := core.Actor{Subject: seedSeller, Roles: []core.Role{core.Seller}}, s.receiverURL()
	found, _, err := hooks.ListEndpoints(ctx, seller, core.Page{Limit: 100})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(e *webhook.Endpoint) bool { return e.Description == receiverName })
	var e *webhook.Endpoint
	if i < 0 {
		e, err = hooks.CreateEndpoint(ctx, seller, webhook.CreateEndpoint{URL: url, EventTypes: []string{"*"}, Description: receiverName})
	} else if _, err = hooks.UpdateEndpoint(ctx, seller, webhook.UpdateEndpoint{ID: found[i].ID, URL: &url}); err == nil {
		e, err = hooks.RotateSecret(ctx, seller, found[i].ID)
	}
	if err == nil {
		s.receiverSecret = e.NewSecret
	}
	return err
}

// startReceiver starts the receiver of the seller's events, which logs them.
func (s *servers) startReceiver(ctx context.Context, log zerolog.Logger) {
	s.serve(ctx, func(ctx context.Context, ln net.Listener) error {
		return receiver.Serve(ctx, ln, s.receiverSecret, func(e receiver.Event) {
			log.Info().Str("id", e.ID).Str("type", e.Type).Bool("repeat", e.Repeat).Msg("webhook received")
		})
	}, s.receiverLn)
}
