// Package lanes decides which commands share a transaction, and how long each waits. It
// knows no SQL: a command is anything that has a principal. Package admission lists all
// ways to wait.
package lanes

import (
	"sync"
	"time"

	"example.com/orders/kit/guard"
)

const (
	// MaxGroup limits the members in a group. Larger groups gain little: they share the
	// fixed cost per transaction, and beyond that the cost per row dominates.
	MaxGroup = 64
	// keepLane is how long a group keeps its lane. A slower group waits for a row or
	// the disk, and others must not wait with it.
	keepLane = 20 * time.Millisecond
	// minRegathered is the smallest group that triggers a pause for regathering.
	minRegathered = 4
	// maxRegather bounds that pause.
	maxRegather = time.Millisecond
)

// gatherFirst makes a free lane gather commands for this long before it runs them, so
// that tests form groups under light load. Test builds set it:
// -ldflags=-X=example.com/orders/internal/adapters/out/postgres/lanes.gatherFirst=3ms
var gatherFirst string

// Lanes limit concurrent transactions. A command that finds a free lane takes it and
// runs alone at once. When all lanes are taken, commands queue, and the next free lane
// runs many in one transaction. So the load determines the group size.
type Lanes[C any] struct {
	lead   func(leave func(), group []C)
	gather time.Duration

	mu    sync.Mutex
	free  int
	queue queue[C]
}

// New returns n free lanes. They call lead for each queued group in a goroutine, and
// lead calls leave at the end.
func New[C any](n int, lead func(leave func(), group []C)) *Lanes[C] {
	gather, _ := time.ParseDuration(gatherFirst) // zero unless a test build sets it
	return &Lanes[C]{lead: lead, gather: gather, free: n}
}

// lane is the right to run one transaction until leave is called.
type lane[C any] struct {
	*Lanes[C]
	taken time.Time
	size  int // of its group
	once  sync.Once
	timer *time.Timer
}

// Enter takes a free lane and returns the function that leaves it. If none is free, it
// queues the command for a group and returns false.
func (l *Lanes[C]) Enter(principal guard.Scope, command C) (leave func(), entered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free > 0 && l.gather == 0 {
		l.free--
		return l.take(1).leave, true
	}
	l.queue.push(principal, command)
	if l.free > 0 {
		l.free--
		time.AfterFunc(l.gather, l.passOn)
	}
	return nil, false
}

// take returns a lane that is left after keepLane at the latest. The caller holds the
// mutex, so that the timer is set before leave can stop it.
func (l *Lanes[C]) take(size int) *lane[C] {
	taken := &lane[C]{Lanes: l, taken: time.Now(), size: size}
	taken.timer = time.AfterFunc(keepLane, taken.leave)
	return taken
}

// leave passes the lane on. Only the first call counts.
//
// Clients often send their next command as soon as they are answered. The first to
// arrive would take the lane alone, and the others would wait for it. So after a group,
// the lane pauses for a fraction of the group's duration if fewer commands wait than
// have just run.
func (l *lane[C]) leave() {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Stop()
		if l.size >= minRegathered && l.queue.size < l.size {
			time.AfterFunc(min(time.Since(l.taken)/4, maxRegather), l.passOn)
			return
		}
		l.pass()
	})
}

func (l *Lanes[C]) passOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass hands a lane to the queued commands, or frees it. The caller holds the mutex.
func (l *Lanes[C]) pass() {
	if group := l.queue.pop(MaxGroup); len(group) > 0 {
		go l.lead(l.take(len(group)).leave, group)
		return
	}
	l.free++
}

// Waiting returns the number of queued commands.
func (l *Lanes[C]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.size
}

// Hold takes n lanes, if that many are free, so that a test's commands queue until
// release is called.
func (l *Lanes[C]) Hold(n int) (release func(), held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free < n {
		return nil, false
	}
	l.free -= n
	return sync.OnceFunc(func() {
		for range n {
			l.passOn()
		}
	}), true
}

// queue has a line per principal. The lines take turns, so that a principal with many
// commands does not delay others.
type queue[C any] struct {
	lines map[guard.Scope][]C
	turns []guard.Scope // principals with queued commands, next first
	size  int
}

func (q *queue[C]) push(principal guard.Scope, command C) {
	q.size++
	if q.lines == nil {
		q.lines = map[guard.Scope][]C{}
	}
	if len(q.lines[principal]) == 0 {
		q.turns = append(q.turns, principal)
	}
	q.lines[principal] = append(q.lines[principal], command)
}

// pop removes and returns up to n commands.
func (q *queue[C]) pop(n int) []C {
	taken := make([]C, 0, min(n, q.size))
	for len(taken) < n && len(q.turns) > 0 {
		principal := q.turns[0]
		line := q.lines[principal]
		taken = append(taken, line[0])
		q.turns = q.turns[1:]
		if len(line) == 1 {
			delete(q.lines, principal)
			continue
		}
		q.lines[principal] = line[1:]
		q.turns = append(q.turns, principal)
	}
	q.size -= len(taken)
	return taken
}
