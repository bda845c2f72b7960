package httpapi

import (
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
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

func showProfile(p *customer.Profile) *success {
	return &success{status: http.StatusOK, body: wire.Profile{
		CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}}
}
