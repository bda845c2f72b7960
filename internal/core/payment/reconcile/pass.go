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
	// SinceLast is the time since the last complete pass, negative before the first
	// one.
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
// while the pass continues, and 0 until the next pass is due. The next call repeats a
// failed step.
func (s *Service) Step(ctx context.Context, limit int) (int, error) {
	pass, err := s.Progress.LoadPass(ctx)
	if err != nil || !pass.due(s.Every) {
		return 0, err
	}
	done, err := s.compareNext(ctx, pass.Position, limit)
	if err != nil {
		return 0, err
	}
	pass.Position, pass.Found = done.next, pass.Found+done.found
	saved, err := s.Progress.SavePass(ctx, pass)
	if err != nil || !saved || done.next == "" {
		return 0, err
	}
	return limit, nil
}

// Run compares everything at once, reports every mismatch, and returns what it has left
// out. It saves no progress.
func (s *Service) Run(ctx context.Context) (LeftOut, error) {
	var done step
	var err error
	for more := true; more && err == nil; more = done.next != "" {
		done, err = s.compareNext(ctx, done.next, 500)
	}
	if err != nil {
		return LeftOut{}, err
	}
	all, err := s.Store.CountCardPayments(ctx)
	if s.Gateway == nil {
		return LeftOut{Unasked: int(all)}, err
	}
	seen := done.charges
	return LeftOut{Recent: seen.recent, Old: max(0, int(all)-seen.payments-seen.unreadable), Unreadable: seen.unreadable}, err
}

// step is the result for the next rows.
type step struct {
	found   int
	next    string
	charges compared
}

// compareNext compares the next rows, and reports and counts the mismatches. The last
// step in a pass also compares the charges at the provider.
func (s *Service) compareNext(ctx context.Context, position string, limit int) (done step, err error) {
	found, next, err := s.Store.Compare(ctx, position, limit)
	if err == nil && next == "" && s.Gateway != nil {
		var charges []payment.Mismatch
		charges, done.charges, err = s.compareCharges(ctx)
		found = append(found, charges...)
	}
	for _, m := range found {
		s.Report(m)
	}
	if err != nil {
		return step{}, err
	}
	done.found, done.next = len(found), next
	return done, nil
}
