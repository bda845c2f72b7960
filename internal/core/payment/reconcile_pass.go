package payment

import (
	"context"
	"time"
)

// Pass is a comparison of everything, in small steps. All replicas work on the same one.
type Pass struct {
	// Version counts the steps of all passes.
	Version int64
	// Position is where the next step begins, empty for the first one of a pass. Only
	// [ReconciliationStore] understands it.
	Position string
	// Found is the number of mismatches that the pass has found so far.
	Found int
	// SinceLast is the time since the last pass was complete, negative if none was.
	SinceLast time.Duration
}

// due reports whether there is something to compare now: a pass that has begun, or a new
// one.
func (p Pass) due(every time.Duration) bool {
	return p.Position != "" || p.SinceLast < 0 || p.SinceLast >= every
}

// ReconciliationProgress keeps the pass for all replicas.
type ReconciliationProgress interface {
	LoadPass(ctx context.Context) (Pass, error)
	// SavePass saves a pass after a step. With an empty position it is complete. It
	// reports whether it did: it does not if another replica has saved the same step.
	SavePass(ctx context.Context, pass Pass) (saved bool, err error)
}

// Step compares the next rows and reports every mismatch among them. It returns limit as
// long as the pass goes on, and 0 when nothing is due. A step that fails is repeated by
// the next call.
func (r *Reconciliation) Step(ctx context.Context, limit int) (int, error) {
	pass, err := r.Progress.LoadPass(ctx)
	if err != nil || !pass.due(r.Every) {
		return 0, err
	}
	found, next, err := r.compareNext(ctx, pass.Position, limit)
	if err != nil {
		return 0, err
	}
	for _, m := range found {
		r.Report(m)
	}
	pass.Position, pass.Found = next, pass.Found+len(found)
	saved, err := r.Progress.SavePass(ctx, pass)
	if err != nil || !saved || next == "" {
		return 0, err
	}
	return limit, nil
}

// compareNext compares the next of our rows. The last step of a pass compares the
// provider's charges as well.
func (r *Reconciliation) compareNext(ctx context.Context, position string, limit int) (found []Mismatch, next string, err error) {
	found, next, err = r.Store.Compare(ctx, position, limit)
	if err != nil || next != "" || r.Gateway == nil {
		return found, next, err
	}
	charges, err := r.compareCharges(ctx)
	return append(found, charges...), "", err
}
