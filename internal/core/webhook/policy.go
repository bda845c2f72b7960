package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// endpointGrant admits an endpoint's seller, and administrators (AUTH-11).
func endpointGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// get loads an endpoint that the actor may use.
func (tx Tx) get(ctx context.Context, actor core.Actor, id int64) (*Endpoint, core.Access, error) {
	e, err := tx.Endpoints.Get(ctx, id)
	if err != nil {
		return nil, 0, core.RefusalOf(err, "endpoint")
	}
	access, err := endpointGrant(actor).Authorise(e.Owners())
	return e, access, err
}

// change runs fn on an endpoint that the actor may use, and adds the audit entry.
func (s *Service) change(
	ctx context.Context, actor core.Actor, id int64, action string, fn func(context.Context, Tx, *Endpoint) error,
) (e *Endpoint, err error) {
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
		if _, _, err = tx.get(ctx, actor, id); err != nil {
			return err
		}
		if e, err = tx.Endpoints.Lock(ctx, id); err != nil {
			return core.RefusalOf(err, "endpoint")
		}
		if err = fn(ctx, tx, e); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, action, Resource(id), e.Owners().Metadata())
	})
	return e, err
}
