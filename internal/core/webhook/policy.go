package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// endpointGrant admits an endpoint's seller, and administrators (AUTH-11).
func endpointGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// sellerOf returns the seller whose events an endpoint of the actor receives. It is
// empty for administrators, whose endpoints receive the events of all sellers.
func sellerOf(actor core.Actor) string {
	if actor.Has(core.Admin) {
		return ""
	}
	return actor.Subject
}

// lock locks and loads an endpoint that the actor may change.
func (tx Tx) lock(ctx context.Context, actor core.Actor, id int64) (*Endpoint, error) {
	grant := endpointGrant(actor)
	e, err := tx.Endpoints.Lock(ctx, id, grant)
	if err != nil {
		return nil, core.RefusalOf(err, "endpoint")
	}
	_, err = grant.Authorise(e.Owners())
	return e, err
}

// get loads an endpoint that the actor may use.
func (tx Tx) get(ctx context.Context, actor core.Actor, id int64) (*Endpoint, core.Access, error) {
	e, err := tx.Endpoints.Get(ctx, id)
	if err != nil {
		return nil, 0, core.RefusalOf(err, "endpoint")
	}
	access, err := endpointGrant(actor).Authorise(e.Owners())
	return e, access, err
}
