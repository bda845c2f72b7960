package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

func decodeProfile(r *request) (customer.Profile, error) {
	customerID, err := decodeCustomerID(r)
	if err != nil {
		return customer.Profile{}, err
	}
	in, err := bodyOf[wire.UpdateCustomerProfileRequest](r)
	return customer.Profile{
		CustomerID: customerID, FullName: in.FullName, Email: in.Email, Phone: in.Phone,
	}, err
}

func (a *api) deleteCustomerProfile(ctx context.Context, actor core.Actor, customerID string) (*success, error) {
	if err := a.Customers.DeleteCustomerProfile(ctx, actor, customerID); err != nil {
		return nil, err
	}
	return &success{status: http.StatusNoContent}, nil
}

func showProfile(p *customer.Profile) *success {
	return &success{status: http.StatusOK, body: wire.Profile{
		CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}}
}
