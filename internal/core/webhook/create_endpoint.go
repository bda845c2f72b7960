package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"

	"example.com/orders/internal/core"
)

// CreateEndpoint is the command to create an endpoint.
type CreateEndpoint struct {
	URL         string
	EventTypes  []string
	Description string
	Ordered     bool
}

// CreateEndpoint creates an endpoint for the seller's events, or for all sellers' if the
// actor is an administrator. It returns the secret as NewSecret, which is the only
// time that anybody sees it.
//
// Refusals: validation_failed (URL, event types, or too many endpoints),
// webhook_endpoint_exists.
func (s *Service) CreateEndpoint(ctx context.Context, actor core.Actor, cmd CreateEndpoint) (*Endpoint, error) {
	e := &Endpoint{
		Owner: actor.Subject, SellerID: actor.Subject, URL: cmd.URL, EventTypes: cmd.EventTypes,
		Description: cmd.Description, Ordered: cmd.Ordered, NewSecret: newSecret(),
	}
	if actor.Has(core.Admin) {
		e.SellerID = ""
	}
	if _, err := endpointGrant(actor).Authorise(e.Owners()); err != nil {
		return nil, err
	}
	if err := s.check(&cmd.URL, cmd.EventTypes); err != nil {
		return nil, err
	}
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.takeURL(ctx, e); err != nil {
			return err
		}
		e.CreatedAt, e.UpdatedAt = tx.Now, tx.Now
		if err := tx.Endpoints.Save(ctx, e); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "CreateWebhookEndpoint", Resource(e.ID), e.Owners().Metadata())
	})
	return e, err
}

// newSecret returns a secret as Standard Webhooks writes it.
func newSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key[:])
}
