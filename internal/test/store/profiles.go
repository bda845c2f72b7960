package storetest

import (
	"context"
	"errors"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

var customerCases = []storeCase{
	{"a profile that does not exist is not found", absentProfile},
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

func absentProfile(t *testing.T, s Stores) {
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		if _, err := tx.Profiles.Get(ctx, "sber-42"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		if _, err := tx.Profiles.Lock(ctx, "sber-42"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Lock: %v", err)
		}
		return nil
	})
}

func profileRoundTrip(t *testing.T, s Stores) {
	first := customer.Profile{CustomerID: "sber-42", Phone: "1", CreatedAt: minute(0), UpdatedAt: minute(0), New: true}
	other := customer.Profile{CustomerID: "sber-4", New: true}
	want := customer.Profile{CustomerID: "sber-42", FullName: "Анна", Email: "a@example.com", CreatedAt: minute(0), UpdatedAt: minute(1)}
	for _, p := range []customer.Profile{first, other, want} {
		s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &p) })
	}
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		got, err := tx.Profiles.Get(ctx, "sber-42")
		equal(t, "profile", got, &want)
		return err
	})
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		locked, err := tx.Profiles.Lock(ctx, "sber-42")
		equal(t, "locked profile", locked, &want)
		return err
	})
}

func oneProfileOfACustomer(t *testing.T, s Stores) {
	first := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &first) })
	err := s.Customers.InTx(t.Context(), func(ctx context.Context, tx customer.Tx) error {
		return tx.Profiles.Save(ctx, &customer.Profile{CustomerID: "sber-42", FullName: "Eve", New: true})
	})
	if err == nil {
		t.Error("a second profile of one customer was stored")
	}
	first.New = false
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		got, err := tx.Profiles.Get(ctx, "sber-42")
		equal(t, "profile", got, &first)
		return err
	})
}

func profileDeletion(t *testing.T, s Stores) {
	deleted := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	other := customer.Profile{CustomerID: "sber-4", FullName: "Bob", UpdatedAt: minute(0), New: true}
	for _, p := range []customer.Profile{deleted, other} {
		s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &p) })
	}
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Delete(ctx, "sber-42") })
	other.New = false
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		if _, err := tx.Profiles.Get(ctx, "sber-42"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("the deleted profile: %v", err)
		}
		got, err := tx.Profiles.Get(ctx, "sber-4")
		equal(t, "another profile", got, &other)
		return err
	})
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &deleted) })
}
