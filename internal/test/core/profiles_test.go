package coretest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
)

// A repetition finds nothing to delete. Nothing changes, so the audit log has one entry.
func TestDeleteCustomerProfile_CanBeRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture()
	withProfile(t, f)
	caused := f.effects(func() {
		for range 3 {
			mustRun(t, f, deleteProfile, root, nil)
		}
	})
	if diff := cmp.Diff(effects{Audited: []string{"root DeleteCustomerProfile profile/ann"}}, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	wantCode(t, "the deleted profile", run(getProfile, ann)(t, f, nil), core.CodeNotFound)
	withProfile(t, f) // a customer can have a profile again
}
