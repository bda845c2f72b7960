package coretest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	coretest "example.com/orders/internal/test/core"
)

// A repetition finds nothing to delete. Nothing changes, so the audit log has one entry.
func TestDeleteCustomerProfile_CanBeRepeated(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	withProfile(t, f)
	caused := f.Effects(t, func() {
		for range 3 {
			if err := f.Customers.DeleteCustomerProfile(t.Context(), root, "ann"); err != nil {
				t.Error(err)
			}
		}
	})
	if diff := cmp.Diff(coretest.Effects{Audited: []string{"root DeleteCustomerProfile profile/ann"}}, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if _, err := f.Customers.GetCustomerProfile(t.Context(), ann, "ann"); coretest.CodeOf(err) != core.CodeNotFound {
		t.Errorf("the deleted profile: %v; want %s", err, core.CodeNotFound)
	}
	withProfile(t, f) // a customer can have a profile again
}
