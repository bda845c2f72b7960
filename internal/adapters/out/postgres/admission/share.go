package admission

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"example.com/orders/kit/guard"
)

// Share waits until a principal uses less than a share of the places. Many commands
// about one order would wait for its row, each holding a connection that others need.
// They wait for the share first. Reads have a share apart, so that they do not wait
// behind commands.
func (p *Places) Share(ctx context.Context, principal guard.Scope, isRead bool) (release func(), err error) {
	release, err = p.shares.acquire(ctx, shareOf{principal, isRead})
	if err != nil {
		return nil, gaveUp("other requests of the principal", err)
	}
	return release, nil
}

// shares limit the concurrent uses by each principal.
type shares struct {
	size int64

	mu      sync.Mutex
	present map[shareOf]*share
}

type shareOf struct {
	principal guard.Scope
	isRead    bool
}

type share struct {
	*semaphore.Weighted
	users int
}

func (s *shares) acquire(ctx context.Context, of shareOf) (release func(), err error) {
	taken := s.enter(of)
	if err := taken.Acquire(ctx, 1); err != nil {
		s.leave(of)
		return nil, err
	}
	return func() {
		taken.Release(1)
		s.leave(of)
	}, nil
}

// enter returns a share. The caller calls leave when it no longer needs it.
func (s *shares) enter(of shareOf) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil {
		s.present = map[shareOf]*share{}
	}
	found := s.present[of]
	if found == nil {
		found = &share{Weighted: semaphore.NewWeighted(s.size)}
		s.present[of] = found
	}
	found.users++
	return found
}

// leave drops a share that nothing uses or waits for.
func (s *shares) leave(of shareOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present[of].users--
	if s.present[of].users == 0 {
		delete(s.present, of)
	}
}

// Idle reports whether no principal has a share or waits for one, and no row is marked.
func (p *Places) Idle() bool {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	return len(p.shares.present) == 0 && p.Held.Empty()
}
