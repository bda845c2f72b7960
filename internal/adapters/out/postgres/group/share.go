package group

import (
	"context"
	"errors"
	"slices"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// runTogether runs members in one transaction. A server error does not identify the member
// that caused it, so a group that certainly failed is split, down to single members,
// which run outside the lanes. cause is the previous group's error.
func (k *Executor) runTogether(ctx context.Context, members []*member, cause error) {
	members = slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return !m.waiting() })
	switch len(members) {
	case 0:
		return
	case 1:
		k.resolveOutside(members[0], cause)
		return
	}
	k.observe.GroupRan(len(members))
	g, err := k.transactShared(ctx, members)
	switch {
	case err == nil || errors.Is(err, errNothingStored):
		k.resolve(g)
	case errors.Is(err, core.ErrOutcomeUnknown):
		g.resolveUnknown(err)
	case !separable(err):
		for _, m := range members {
			m.resolve(outcome{err: err})
		}
	default:
		k.observe.GroupSplit()
		first, second := split(members, err)
		k.runTogether(ctx, first, err)
		k.runTogether(ctx, second, err)
	}
}

// transactShared runs members once in one transaction.
func (k *Executor) transactShared(ctx context.Context, members []*member) (g *group, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	place, err := k.db.Places.InLane(ctx)
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	err = k.db.Run(ctx, place, 1, func(ctx context.Context, t *pgtx.Tx) error {
		g = k.begin(ctx, t, members, nil)
		return k.run(g)
	})
	return g, err
}

// split returns the parts of a failed group. If it waited for a row in vain, the
// members that want no such row come first. Those that do are halved until one is left,
// which marks its rows; the others then find the mark.
func split(members []*member, err error) (first, second []*member) {
	if errors.Is(err, pgtx.ErrRowHeld) {
		for _, m := range members {
			if len(m.session.Blocked()) == 0 {
				first = append(first, m)
			} else {
				second = append(second, m)
			}
		}
		if len(first) > 0 && len(second) > 0 {
			return first, second
		}
	}
	half := len(members) / 2
	return members[:half], members[half:]
}

// separable reports whether part of a failed group may succeed, because the cause is a
// held row, a lost race or an unreadable value. An unavailable database fails all
// members alike.
func separable(err error) bool {
	return errors.Is(err, pgtx.ErrRowHeld) || pgtx.Cancelled(err) || !errors.Is(err, core.ErrUnavailable)
}

// resolveOutside lets a member run outside the lanes. After a lock timeout, other
// commands for its rows stay out of groups until it has ended.
func (k *Executor) resolveOutside(m *member, err error) {
	f := outcome{outside: true}
	if errors.Is(err, pgtx.ErrRowHeld) {
		f.marked = m.session.Blocked()
		k.held.Add(f.marked)
	}
	if !m.resolve(f) {
		k.held.Remove(f.marked)
	}
}
