package probe

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// An outcome needs a proof: what looks like a replay may be an answer that all requests
// get, and a counter that stands still may be a page of a list.

// fresh sends a new operation, and reports whether the counter has seen the effect. Nothing
// may be held while it does.
func (r *run) fresh(op *operation) (got Exchange, seen bool) {
	r.extra++
	other := r.under(NewKey(r.Seed, r.probe.Name, "extra", r.extra))
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

// sees reports whether the counter shows the effect of a request that is sent again, under a
// new key.
func (r *run) sees(op *operation, sent Exchange) bool {
	r.extra++
	c := call{Request: sent.Request, server: sent.Server, header: r.Header, keys: []string{r.Profile.Written(NewKey(r.Seed, op.key, r.extra))}}
	c.Header = maps.Clone(sent.Request.Header)
	c.Header.Del(r.Header)
	before := op.after - op.before
	succeeded := r.send(c).succeeded()
	moved := r.awaited(op, before+1) - before
	op.before += moved
	return succeeded && moved > 0
}

// names reports whether a response names its effect: no other operation has the same one.
func (r *run) names(op *operation, first Exchange) bool {
	if len(first.Body) == 0 {
		return false
	}
	other, _ := r.fresh(op)
	return !r.equal(other, first)
}

// equal reports whether an answer is the first response: the same bytes or, unless the
// profile asks for these, JSON that differs in nothing but members that change with each
// answer of the server.
func (r *run) equal(got, first Exchange) bool {
	a, b := members(got), members(first)
	if got.same(first) || r.Profile.Bytes || got.Status != first.Status || a == nil || b == nil {
		return got.same(first)
	}
	if r.volatile == nil {
		r.volatile = r.changes(first)
	}
	for name := range r.volatile {
		delete(a, name)
		delete(b, name)
	}
	return reflect.DeepEqual(a, b)
}

// changes returns the members that differ between two answers which are no replays.
func (r *run) changes(first Exchange) map[string]bool {
	c := call{Request: Request{Method: http.MethodGet, Path: first.Request.Path}, server: first.Server, who: maps.Clone(first.Request.Header)}
	c.who.Del(r.Header)
	a, b := members(r.try(c)), members(r.try(c))
	changed := map[string]bool{}
	for name, value := range a {
		changed[name] = !reflect.DeepEqual(value, b[name])
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return changed
}

// members returns the members of a JSON object, or nil.
func members(e Exchange) map[string]any {
	var found map[string]any
	from := json.NewDecoder(bytes.NewReader(e.Body))
	from.UseNumber()
	if from.Decode(&found) != nil {
		return nil
	}
	return found
}

// accepted returns the outcome of another request that succeeded with no effect that was
// counted.
func (r *run) accepted(op *operation, first, got Exchange) string {
	same := r.equal(got, first)
	switch {
	case r.marked(got), same && r.names(op, first):
		return "replayed"
	case same:
		return "accepted"
	case r.shows(op, first, got):
		return "replayed in another form"
	case r.sees(op, got):
		return "accepted, with no effect"
	}
	return "ran, as the answer is another one"
}

// shows reports whether an answer has the first response in it, or a text of the first
// request, that nothing else explains.
func (r *run) shows(op *operation, first, got Exchange) bool {
	if contains(got, op.Canary) && !strings.Contains(got.Request.Body, op.Canary) {
		return true
	}
	text := bytes.TrimSpace(first.Body)
	quoted, _ := json.Marshal(string(text)) //nolint:errchkjson // a string
	hasBody := len(text) > 2 && (bytes.Contains(got.Body, text) || bytes.Contains(got.Body, quoted[1:len(quoted)-1]))
	hasLocation := first.location() != "" && got.location() == first.location()
	if !hasBody && !hasLocation {
		return false
	}
	other, _ := r.fresh(op) // which may have it in common
	return hasBody && !bytes.Equal(other.Body, first.Body) || hasLocation && other.location() != first.location()
}

// foreign reports whether an answer has the response of the check, or the text of its
// request, though its own first response has not.
func (r *run) foreign(got, first Exchange) bool {
	if r.checked == nil {
		return false
	}
	location := r.checked.response.location()
	return contains(got, r.checked.Canary) || location != "" && got.location() == location && first.location() != location
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

// overloaded reports whether a server refused a request because of its load.
func (e Exchange) overloaded() bool {
	return e.limited() || e.Status == http.StatusServiceUnavailable && e.Header.Get("Retry-After") != ""
}

// starting reports whether a proxy says that there is no server yet.
func (e Exchange) starting() bool {
	return slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, e.Status)
}
