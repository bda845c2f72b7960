package lanes

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/idempotency"
)

// Shares limit each principal's concurrent transactions outside groups. Many commands
// about one order would wait for its row, each holding a connection that others need.
// So they first wait for their share, without a connection.
type Shares struct {
	// Size is the limit per principal.
	Size int64

	mu      sync.Mutex
	present map[idempotency.Scope]*share
}

type share struct {
	*semaphore.Weighted
	users int
}

// Acquire waits for the principal's share.
func (s *Shares) Acquire(ctx context.Context, principal idempotency.Scope) (release func(), err error) {
	sh := s.of(principal)
	if err := sh.Acquire(ctx, 1); err != nil {
		s.done(principal)
		return nil, err
	}
	return func() {
		sh.Release(1)
		s.done(principal)
	}, nil
}

// of returns a principal's share. The caller calls done when it no longer needs it.
func (s *Shares) of(principal idempotency.Scope) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil {
		s.present = map[idempotency.Scope]*share{}
	}
	sh := s.present[principal]
	if sh == nil {
		sh = &share{Weighted: semaphore.NewWeighted(s.Size)}
		s.present[principal] = sh
	}
	sh.users++
	return sh
}

// done drops a principal without commands.
func (s *Shares) done(principal idempotency.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.present[principal]
	sh.users--
	if sh.users == 0 {
		delete(s.present, principal)
	}
}

// Empty reports whether no principal runs a command or waits for its share.
func (s *Shares) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.present) == 0
}
