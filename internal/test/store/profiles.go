package storetest

import (
	"context"
	"errors"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

var customerCases = []storeCase{
	{"a profile comes back as it was saved last", profileRoundTrip},
	{"there is one profile of a customer", oneProfileOfACustomer},
	{"a deleted profile is not found, and can be made anew", profileDeletion},
}

func (s Stores) inCustomerTx(t *testing.T, fn func(ctx context.Context, tx customer.Tx) error) {
	t.Helper()
	if err := s.Customers.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (s Stores) saveProfile(t *testing.T, p customer.Profile) {
	t.Helper()
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &p) })
}

// wantProfile reads a profile in both ways; want is nil for none.
func (s Stores) wantProfile(t *testing.T, customerID string, want *customer.Profile) {
	t.Helper()
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		got, err := tx.Profiles.Get(ctx, customerID)
		locked, lockErr := tx.Profiles.Lock(ctx, customerID)
		equal(t, "profiles, read and locked", []*customer.Profile{got, locked}, []*customer.Profile{want, want})
		for _, err := range []error{err, lockErr} {
			if absent := errors.Is(err, core.ErrNotFound); absent != (want == nil) || err != nil && !absent {
				t.Errorf("the profile of %s: %v", customerID, err)
			}
		}
		return nil
	})
}

func profileRoundTrip(t *testing.T, s Stores) {
	want := customer.Profile{CustomerID: "sber-42", FullName: "Анна", Email: "a@example.com", CreatedAt: minute(0), UpdatedAt: minute(1)}
	for _, p := range []customer.Profile{
		{CustomerID: "sber-42", Phone: "1", CreatedAt: minute(0), UpdatedAt: minute(0), New: true},
		{CustomerID: "sber-4", New: true},
		want,
	} {
		s.saveProfile(t, p)
	}
	s.wantProfile(t, "sber-42", &want)
}

func oneProfileOfACustomer(t *testing.T, s Stores) {
	first := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	s.saveProfile(t, first)
	err := s.Customers.InTx(t.Context(), func(ctx context.Context, tx customer.Tx) error {
		return tx.Profiles.Save(ctx, &customer.Profile{CustomerID: "sber-42", FullName: "Eve", New: true})
	})
	if err == nil {
		t.Error("a second profile of one customer was stored")
	}
	first.New = false
	s.wantProfile(t, "sber-42", &first)
}

func profileDeletion(t *testing.T, s Stores) {
	deleted := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	other := customer.Profile{CustomerID: "sber-4", FullName: "Bob", UpdatedAt: minute(0), New: true}
	s.saveProfile(t, deleted)
	s.saveProfile(t, other)
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Delete(ctx, "sber-42") })
	s.wantProfile(t, "sber-42", nil)
	other.New = false
	s.wantProfile(t, "sber-4", &other)
	s.saveProfile(t, deleted)
}
