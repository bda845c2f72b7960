package step

import (
	"slices"
	"strings"
	"testing"
)

// maxShrinks bounds the runs that look for a shorter failure.
const maxShrinks = 400

// shrinker looks for the shortest run that still breaks a rule.
type shrinker struct {
	t    *testing.T
	w    *world
	best *run
	plan plan
	runs int
}

// shrink returns a short failing run, made from one that failed: with fewer commands, then
// with a shorter beginning whose order matters, then with fewer steps in it. What follows
// the beginning runs in the plainest order.
func (w *world) shrink(t *testing.T, p plan, failed *run) *run {
	t.Helper()
	s := &shrinker{t: t, w: w, best: failed, plan: p}
	steps := failed.taken
	if !s.fails(p, steps) {
		return failed // its end matters
	}
	for _, asked := range p.requests {
		fewer := s.plan
		fewer.requests = slices.DeleteFunc(slices.Clone(fewer.requests), func(r request) bool { return r.number == asked.number })
		if len(fewer.requests) > 0 && s.fails(fewer, steps) {
			s.plan = fewer
		}
	}
	for chunk := len(steps); chunk > 0; chunk /= 2 {
		for end := len(steps); end > 0; end = min(end, len(steps)) - chunk {
			shorter := slices.Delete(slices.Clone(steps), max(0, end-chunk), end)
			if s.fails(s.plan, shorter) {
				steps = shorter
			}
		}
	}
	return s.best
}

// fails runs a script, and keeps the run if it breaks a rule in no more events.
func (s *shrinker) fails(p plan, steps []string) bool {
	s.t.Helper()
	s.runs++
	if s.runs > maxShrinks {
		return false
	}
	r := s.w.execute(s.t, p, (&script{steps: slices.Clone(steps)}).choose)
	if len(r.found) == 0 || strings.HasPrefix(r.found[0], "the run failed") {
		return false
	}
	if len(r.events) <= len(s.best.events) {
		s.best = r
	}
	return true
}

// script repeats steps as far as they are possible. After them, it lets each command run to
// its end before the next is sent.
type script struct{ steps []string }

func (s *script) choose(enabled []string) string {
	for len(s.steps) > 0 {
		next := s.steps[0]
		s.steps = s.steps[1:]
		if slices.Contains(enabled, next) {
			return next
		}
	}
	for _, verb := range []string{"reply", "pass", "answer", "send", "retry"} {
		for _, step := range enabled {
			if strings.HasPrefix(step, verb) {
				return step
			}
		}
	}
	return "clock"
}
