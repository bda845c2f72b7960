package reconcile

import (
	"context"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core/payment/reconcile"
)

// LoadPass returns the reconciliation pass in progress; see [reconcile.Progress].
func (s Store) LoadPass(ctx context.Context) (reconcile.Pass, error) {
	rows, err := dbsqlc.New(s.db.Pool()).ReconciliationPass(ctx)
	if err != nil || len(rows) == 0 {
		return reconcile.Pass{}, pgtx.Failed("read the progress of reconciliation", err)
	}
	return reconcile.Pass{
		Version: rows[0].Version, Position: rows[0].Position, Found: int(rows[0].Found), SinceLast: seconds(rows[0].Age),
	}, nil
}

// SavePass saves the pass after a step; see [reconcile.Progress].
func (s Store) SavePass(ctx context.Context, pass reconcile.Pass) (bool, error) {
	var n int64
	err := s.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).SaveReconciliationPass, dbsqlc.SaveReconciliationPassParams{
		NextPosition: pass.Position, Found: int64(pass.Found), Version: pass.Version,
	}))
	return n == 1, pgtx.Failed("save the progress of reconciliation", err)
}

// ReconciliationResult returns the number of mismatches, and the time since the last
// complete pass, negative if there was none.
func (s Store) ReconciliationResult(ctx context.Context) (mismatches int64, age time.Duration, err error) {
	rows, err := dbsqlc.New(s.db.Pool()).ReconciliationResult(ctx)
	if err != nil || len(rows) == 0 {
		return 0, -1, pgtx.Failed("read the result of reconciliation", err)
	}
	return rows[0].Mismatches, seconds(rows[0].Age), nil
}

// NextDispute returns the time until the next answer to a dispute is due, or nil.
func (s Store) NextDispute(ctx context.Context) (*time.Duration, error) {
	rows, err := dbsqlc.New(s.db.Pool()).NextDispute(ctx)
	if err != nil || len(rows) == 0 {
		return nil, pgtx.Failed("read the disputes", err)
	}
	return new(seconds(rows[0])), nil
}
