package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	customers "example.com/orders/internal/core/customer"
)

func (a *api) getCustomerProfile(ctx context.Context, r *request) (*response, error) {
	customerID, err := r.customerID()
	if err != nil {
		return nil, err
	}
	p, err := a.Customers.GetCustomerProfile(ctx, r.actor, customerID)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: profileOut(p)}, nil
}

func (a *api) updateCustomerProfile(ctx context.Context, r *request) (*response, error) {
	in, err := bodyOf[wire.UpdateCustomerProfileRequest](r)
	if err != nil {
		return nil, err
	}
	customerID, err := r.customerID()
	if err != nil {
		return nil, err
	}
	p, err := a.Customers.UpdateCustomerProfile(ctx, r.actor, customers.Profile{
		CustomerID: customerID, FullName: in.FullName, Email: in.Email, Phone: in.Phone,
	})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: profileOut(p)}, nil
}

func (a *api) listAuditLog(ctx context.Context, r *request) (*response, error) {
	page, err := r.page()
	if err != nil {
		return nil, err
	}
	entries, next, err := a.Audit.ListAuditLog(ctx, page)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: wire.AuditPage{Data: all(entries, auditOut), NextCursor: cursorOut(next)}}, nil
}

func profileOut(p *customers.Profile) wire.Profile {
	return wire.Profile{CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone, UpdatedAt: p.UpdatedAt}
}

func auditOut(e core.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{ID: e.ID, Actor: e.Actor, At: e.At, Action: e.Action, Resource: e.Resource, Metadata: e.Metadata}
}
