package probe

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
)

// An outcome needs a proof: what looks like a replay may be an answer that all requests
// get, and a counter that stands still may be a page of a list.

// fresh sends a new operation, and reports whether the counter has seen the effect. Nothing
// may be held while it does.
func (r *run) fresh(op *operation) (got Exchange, seen bool) {
	r.extra++
	key := NewKey(r.Seed, r.probe.Name, "extra", r.extra)
	made, err := r.Prepare(r, key)
	if err != nil {
		r.stop(Unreachable, "%v", err)
	}
	other := &operation{Operation: made, key: key}
	before, theirs := r.count(op), r.count(other) // which may count the same effects
	got = r.send(r.elsewhere(r.by(other, other.Do)))
	r.pause(r.Settle)
	moved := r.count(op) - before
	op.before += moved
	op.after += moved
	return got, r.count(other) > theirs
}

// counts stops a probe unless the counter sees effects.
func (r *run) counts(op *operation) {
	if _, seen := r.fresh(op); !seen {
		r.stop(CannotTell, "the counter shows %d: effects needs a number or a list that grows with each effect", r.count(op))
	}
}

// names reports whether a response names its effect: no other operation has the same one.
func (r *run) names(op *operation, first Exchange) bool {
	if len(first.Body) == 0 {
		return false
	}
	other, _ := r.fresh(op)
	return !bytes.Equal(other.Body, first.Body)
}

// changing returns the names of headers that differ between two answers to one request.
func changing(a, b Exchange) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(union(a.Header, b.Header))), func(name string) bool {
		return name == "Location" || slices.Equal(a.Header[name], b.Header[name])
	})
}

// alike reports whether an answer is the first one, but for members of the body that also
// differ between two later answers, such as the id of a trace.
func alike(first, got, again Exchange) bool {
	var a, b, c map[string]json.RawMessage
	if json.Unmarshal(first.Body, &a) != nil || json.Unmarshal(got.Body, &b) != nil || json.Unmarshal(again.Body, &c) != nil {
		return got.same(first)
	}
	for name, value := range b {
		if !bytes.Equal(value, c[name]) {
			delete(a, name)
			delete(b, name)
		}
	}
	return got.Status == first.Status && maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// limited reports whether a server refused a request because there were too many.
func (e Exchange) limited() bool { return e.Status == http.StatusTooManyRequests }

// starting reports whether a proxy says that there is no server yet.
func (e Exchange) starting() bool {
	return slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, e.Status)
}
