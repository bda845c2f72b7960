package app

import (
	"context"

	"example.com/orders/migrations"
)

// checkRole fails if the role of the process may not do what the service does, and warns
// if it may do more: a way into the process would then be one to the ledger.
func (a *App) checkRole(ctx context.Context) error {
	p, err := migrations.CheckPrivileges(ctx, a.readyDB.Pool())
	if err != nil {
		return err
	}
	if len(p.Excess) > 0 {
		a.log.Warn().Str("role", p.Role).Strs("privileges", p.Excess).Msg("database role may do too much")
	}
	if err := p.Err(a.granted); err != nil {
		return refusal{err}
	}
	return nil
}
