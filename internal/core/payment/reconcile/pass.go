package reconcile

import (
	"context"
	"time"

	"example.com/orders/internal/core/payment"
)

// Pass is a complete comparison in small steps. All replicas work on the same one.
type Pass struct {
	// Version counts the steps of all passes.
	Version int64
	// Position is where the next step begins, "" at the start of a pass. Only
	// [Store] interprets it.
	Position string
	// Found is the number of mismatches found so far.
	Found int
	// SinceLast is the time since the last complete pass, negative if there was none.
	SinceLast time.Duration
}

// due reports whether a pass is in progress or a new one should begin.
func (p Pass) due(every time.Duration) bool {
	return p.Position != "" || p.SinceLast < 0 || p.SinceLast >= every
}

// Progress keeps the pass for all replicas.
type Progress interface {
	LoadPass(ctx context.Context) (Pass, error)
	// SavePass saves a pass after a step, complete if the position is "". It reports
	// false if another replica already saved the same step.
	SavePass(ctx context.Context, pass Pass) (saved bool, err error)
}

// Step compares the next rows and reports every mismatch among them. It returns limit
// while the pass continues, and 0 when nothing is due. The next call repeats a failed
// step.
func (s *Service) Step(ctx context.Context, limit int) (int, error) {
	pass, err := s.Progress.LoadPass(ctx)
	if err != nil || !pass.due(s.Every) {
		return 0, err
	}
	found, next, err := s.compareNext(ctx, pass.Position, limit)
	if err != nil {
		return 0, err
	}
	pass.Position, pass.Found = next, pass.Found+found
	saved, err := s.Progress.SavePass(ctx, pass)
	if err != nil || !saved || next == "" {
		return 0, err
	}
	return limit, nil
}

// Run compares everything at once and reports every mismatch. It saves no progress.
func (s *Service) Run(ctx context.Context) (err error) {
	for position, more := "", true; more && err == nil; more = position != "" {
		_, position, err = s.compareNext(ctx, position, 500)
	}
	return err
}

// compareNext compares the next rows, and reports and counts the mismatches. The last step
// in a pass also compares the provider's charges.
func (s *Service) compareNext(ctx context.Context, position string, limit int) (count int, next string, err error) {
	found, next, err := s.Store.Compare(ctx, position, limit)
	if err == nil && next == "" && s.Gateway != nil {
		var charges []payment.Mismatch
		charges, err = s.compareCharges(ctx)
		found = append(found, charges...)
	}
	if err != nil {
		return 0, "", err
	}
	for _, m := range found {
		s.Report(m)
	}
	return len(found), next, nil
}
