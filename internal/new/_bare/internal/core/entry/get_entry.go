package entry

import (
	"context"

	"example.com/orders/internal/core"
)

// GetEntry returns an entry to whom it belongs, or to an administrator, whose read is
// audited (AUTH-10, AUTH-12). Refusals: not_found, forbidden_resource.
func (s *Service) GetEntry(ctx context.Context, actor core.Actor, id int64) (*Entry, error) {
	var e *Entry
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		if e, err = tx.Entries.Get(ctx, id); err != nil {
			return core.RefusalOf(err, "entry")
		}
		access, err := actor.Grant(core.Customer, core.Admin).Authorise(e.Owners())
		if err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetEntry", e.resource(), e.Owners().Metadata())
	})
	return e, err
}
