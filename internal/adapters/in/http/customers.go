package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	customers "example.com/orders/internal/core/customer"
)

func (a *api) getCustomerProfile(ctx context.Context, actor core.Actor, customerID string) (*success, error) {
	p, err := a.Customers.GetCustomerProfile(ctx, actor, customerID)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: profileOut(p)}, nil
}

func decodeProfile(r *request) (customers.Profile, error) {
	customerID, err := decodeCustomerID(r)
	if err != nil {
		return customers.Profile{}, err
	}
	in, err := bodyOf[wire.UpdateCustomerProfileRequest](r)
	return customers.Profile{CustomerID: customerID, FullName: in.FullName, Email: in.Email, Phone: in.Phone}, err
}

func (a *api) updateCustomerProfile(ctx context.Context, actor core.Actor, profile customers.Profile) (*success, error) {
	p, err := a.Customers.UpdateCustomerProfile(ctx, actor, profile)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: profileOut(p)}, nil
}

func (a *api) deleteCustomerProfile(ctx context.Context, actor core.Actor, customerID string) (*success, error) {
	if err := a.Customers.DeleteCustomerProfile(ctx, actor, customerID); err != nil {
		return nil, err
	}
	return &success{status: http.StatusNoContent}, nil
}

func profileOut(p *customers.Profile) wire.Profile {
	return wire.Profile{CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}
