package postgres

import (
	"sync"
	"time"

	"example.com/orders/internal/idempotency"
)

const (
	// maxGroup bounds the commands of a group. Larger groups gain little: they share what a
	// transaction costs once, and are bound by what each row costs.
	maxGroup = 64
	// keepLane is how long a group keeps its lane. A group that takes longer waits for
	// something, a row or the disk, and others must not wait with it.
	keepLane = 20 * time.Millisecond
	// minRegathered is the size from which a group is worth gathering again.
	minRegathered = 4
	// maxRegather bounds the time for it.
	maxRegather = time.Millisecond
)

// lanes decide which commands run alone and which run together. Each of the few lanes is
// the right to run one transaction. A command that finds a lane free takes it and runs at
// once. When all are taken, commands gather in the queue, and a lane that becomes free
// takes many of them into one transaction. So groups are as large as the load makes them.
type lanes struct {
	// lead runs a group. It leaves the lane at the end.
	lead func(*lane, []*member)

	mu    sync.Mutex
	free  int
	queue waitingLine
}

// GroupObserver observes how commands share transactions.
type GroupObserver interface {
	// GroupRan is called with the number of commands before a group runs.
	GroupRan(commands int)
	// GroupSplit is called when a group has failed and its halves run by themselves.
	GroupSplit()
	// CommandQueued is called with the time that a command waited for its group.
	CommandQueued(d time.Duration)
}

// lane is the right to run one transaction until it is left.
type lane struct {
	*lanes
	taken   time.Time
	members int // of the group that has the lane
	once    sync.Once
	timer   *time.Timer
}

// enter takes a free lane. If there is none, it adds the member to the queue and returns
// nil.
func (l *lanes) enter(m *member) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == 0 {
		l.queue.push(m)
		return nil
	}
	l.free--
	return l.take(1)
}

// take returns a lane, which is left after keepLane if not before. The caller holds the
// mutex, so that the timer is set when the lane is left.
func (l *lanes) take(members int) *lane {
	taken := &lane{lanes: l, taken: time.Now(), members: members}
	taken.timer = time.AfterFunc(keepLane, taken.leave)
	return taken
}

// leave passes the lane on. Only the first call counts.
//
// Clients that have just been answered often send their next command at once. The first of
// them would take the lane alone, and the others would have to wait for it. So a lane that
// had a group waits a moment, a fraction of the time that the group took, if fewer wait now
// than have just run. Where commands do not gather anyway, nothing waits.
func (l *lane) leave() {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Stop()
		if l.members >= minRegathered && l.queue.size < l.members {
			time.AfterFunc(min(time.Since(l.taken)/4, maxRegather), l.regathered)
			return
		}
		l.pass()
	})
}

// regathered passes a lane that has waited for commands to gather.
func (l *lanes) regathered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass passes a lane to those who wait, or frees it. The caller holds the mutex.
func (l *lanes) pass() {
	if group := l.queue.pop(maxGroup); len(group) > 0 {
		go l.lead(l.take(len(group)), group)
		return
	}
	l.free++
}

// waiting returns how many commands wait for a lane.
func (l *lanes) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.size
}

// waitingLine holds the members that wait, in a line for each principal. The lines take turns,
// so that a principal with many commands does not delay those of others.
type waitingLine struct {
	lines map[idempotency.Scope][]*member
	// turns are the principals that wait, the next one first.
	turns []idempotency.Scope
	size  int
}

func (q *waitingLine) push(m *member) {
	q.size++
	scope := m.claim.Scope
	if q.lines == nil {
		q.lines = map[idempotency.Scope][]*member{}
	}
	if len(q.lines[scope]) == 0 {
		q.turns = append(q.turns, scope)
	}
	q.lines[scope] = append(q.lines[scope], m)
}

// pop removes and returns up to n members.
func (q *waitingLine) pop(n int) []*member {
	taken := make([]*member, 0, min(n, q.size))
	for len(taken) < n && len(q.turns) > 0 {
		scope := q.turns[0]
		line := q.lines[scope]
		taken = append(taken, line[0])
		q.turns = q.turns[1:]
		if len(line) == 1 {
			delete(q.lines, scope)
			continue
		}
		q.lines[scope] = line[1:]
		q.turns = append(q.turns, scope)
	}
	q.size -= len(taken)
	return taken
}
