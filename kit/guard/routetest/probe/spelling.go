package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func spelling(r *run) {
	op := r.prepare()
	again := op.Do
	again.Body = respelled(op.Do.Body)
	r.need(again.Body != "", "JSON in the body")
	first := r.first(op, r.by(op, op.Do))
	got := r.send(r.by(op, again))
	r.judge(op, "spelling", r.compared(got, first), first, got)
	r.once(op, first, got)
	r.likeKey(op, "quoted", `"`+op.key+`"`, first) // a structured field
	r.likeKey(op, "case", strings.ToUpper(op.key), first)
	r.nextKey(op, first)
	if r.states("path") {
		r.respelledPath()
	}
}

// respelledPath judges whether a different spelling of the path is the same request,
// for the first segment in which the server takes one.
func (r *run) respelledPath() {
	for segment := range strings.Count(r.prepare().Do.Path, "/") + 1 {
		op := r.prepare()
		c := r.by(op, op.Do)
		c.Path = withEscapes(c.Path, segment)
		first := r.send(c)
		if c.Path == op.Do.Path || !first.succeeded() {
			continue
		}
		r.pause(r.Settle)
		got := r.send(r.by(op, op.Do))
		r.judge(op, "path", r.compared(got, first), first, got)
		r.once(op, first, got)
		return
	}
	r.notef("not asked: the server takes no other spelling of the path")
}

// likeKey judges whether a different spelling is the same key.
func (r *run) likeKey(op *operation, rule, key string, first Exchange) {
	if !r.states(rule) {
		return
	}
	before := r.effects(op)
	c := r.by(op, op.Do)
	c.keys = []string{key}
	got := r.send(c)
	outcome := r.compared(got, first)
	if r.effects(op) > before {
		outcome = "another key"
	}
	r.judge(op, rule, outcome, first, got)
}

// nextKey judges whether a key that differs in the last character is another one.
func (r *run) nextKey(op *operation, first Exchange) {
	last := len(op.key) - 1
	other := r.under(op.key[:last] + map[bool]string{true: "1", false: "0"}[op.key[last] == '0'])
	other.before = r.count(other)
	got := r.send(r.by(other, other.Do))
	outcome := r.compared(got, first)
	if r.awaited(other, 1) > 0 {
		outcome = "another key"
	} else {
		r.counts(op)
	}
	r.judge(op, "distinct", outcome, first, got)
}

// respelled returns the same JSON with white space, and the members of the object in reverse
// order. It returns "" unless the text is JSON.
func respelled(body string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &members) != nil {
		var text bytes.Buffer
		if json.Indent(&text, []byte(body), " ", "\t") != nil {
			return ""
		}
		return text.String()
	}
	var parts []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		quoted, _ := json.Marshal(name) //nolint:errchkjson // a string
		parts = append(parts, fmt.Sprintf("\n %s : %s", quoted, members[name]))
	}
	return "{" + strings.Join(parts, " ,") + "\n}"
}

// withEscapes returns a path with one of the characters in a segment percent-encoded
// wherever it occurs there, as an encoder does that always escapes it: a hyphen, or the
// first letter or digit.
func withEscapes(path string, segment int) string {
	path, query, _ := strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	text := segments[segment]
	char := "-"
	if !strings.Contains(text, char) {
		char = text[:min(len(text), 1)]
	}
	if char != "" && char != "%" {
		segments[segment] = strings.ReplaceAll(text, char, fmt.Sprintf("%%%02X", char[0]))
	}
	path = strings.Join(segments, "/")
	if query != "" {
		path += "?" + query
	}
	return path
}
