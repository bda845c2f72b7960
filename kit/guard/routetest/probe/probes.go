package probe

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Probes are all questions in the order in which they are asked.
var Probes = []Probe{
	{"A", 1, "a retry gets the first response", "Sends a request, and sends it again to each process, to the first one twice: what changes between replays is not compared.", []string{"once", "replay", "headers", "marker"}, retry},
	{"D", 1, "another request with the key is refused", "Sends another body under the key of a request that succeeded.", []string{"once", "mismatch", "hidden"}, otherBody},
	{"G", 1, "a key belongs to its route", "Sends the key of a request that succeeded with another route, method or query. A route that is not found is asked once more under a new key.", []string{"once", "route", "variant", "hidden"}, otherRoute},
	{"L", 1, "an empty response is replayed", "Repeats a request whose response has no body.", []string{"once", "replay"}, emptyResponse},
	{"N", 1, "a retry may be spelled differently", "Repeats a request with the same JSON in other white space and another order, and with its key in quotes and in capitals. Sends a request whose key differs in the last character, and another one with percent-encoded characters in the path, and repeats it without them.", []string{"once", "spelling", "quoted", "case", "distinct", "path"}, spelling},
	{"P", 1, "a request without a usable key is refused", "Sends no key, a blank one, two key headers, one of 292 characters, one in the query, and malformed ones: \"\"; k, k; k;a=b; k 1; k-ü; \"k. Then half of the body, and the body with 2 MiB of spaces behind it, which a server may accept. The key of each must be left to the request that follows.", []string{"missing", "blank", "twice", "long", "query", "malformed", "unreadable"}, unusableKeys},
	{"K", 1, "a failed command keeps nothing", "Makes the command fail with 5xx, before its effect and after it, and retries without the failure.", []string{"once", "failure", "rollback"}, failure},
	{"R", 1, "a refusal is kept", "Repeats a request that the business refused, after the reason is gone.", []string{"once", "refusal", "mismatch", "hidden"}, refusal},
	{"B", 2, "a duplicate waits or has to come back", "Sends a request again while the first one runs.", []string{"once", "concurrent", "replay"}, duplicate},
	{"E", 2, "another request is refused while the first one runs", "Sends another body under the key while the first request runs.", []string{"once", "concurrent other", "hidden"}, otherWhileRunning},
	{"O", 2, "a retry right after the response gets it", "Repeats a request within a millisecond of the response, with 20 keys.", []string{"once", "immediate"}, immediately},
	{"C", 3, "many requests at once have one effect", "Sends 50 equal requests at the same moment to both processes, with each of 20 keys.", []string{"once", "crowd"}, crowd},
	{"H", 3, "a client that hangs up does not stop a command", "Closes the connection while the command runs, before its effect and after it, and retries at the other process before the command ends.", []string{"once", "hang-up"}, hangUp},
	{"I", 4, "a response lost in a crash is found", "Kills the process after the effect and before the response, and retries.", []string{"once", "killed after"}, killedAfter},
	{"J", 4, "a crash keeps nothing", "Kills the process before the effect, and retries until the key is free.", []string{"once", "killed before"}, killedBefore},
	{"M", 4, "nothing runs without the store of keys", "Takes the store of keys away, sends a request, brings it back, and retries.", []string{"once", "store"}, storeDown},
	{"T", 4, "after expiry the second line of defence answers", "Expires all keys, and retries. An answer that is still marked as a replay is not judged.", []string{"expired", "expired other"}, expiry},
	{"F", 5, "a key belongs to its principal", "Sends the same request under the same key as another principal, b. Its answer is a replay if it is marked, or if it is the first response or what a retry gets, and other operations get other answers. Another answer is separate, also where the effect of b is not visible to a.", []string{"scope", "hidden"}, otherPrincipal},
	{"S", 5, "a stranger gets no stored response", "Plants a text in a request, and looks for it, and for tokens, in the answers to everybody else.", []string{"stranger", "hidden", "secrets"}, secrets},
}

func retry(r *run) {
	op := r.prepare()
	c := r.by(op, op.Do)
	first := r.first(op, c)
	var replays []Exchange
	for range r.Servers {
		got := r.send(c)
		r.once(op, first, got)
		r.judge(op, "replay", r.compared(got, first), first, got)
		if got.succeeded() {
			replays = append(replays, got)
			r.judge(op, "marker", map[bool]string{true: "marked", false: "not marked"}[r.marked(got) && !r.marked(first)], first, got)
		}
		c = r.elsewhere(c)
	}
	again := r.send(r.by(op, op.Do))
	for _, got := range replays {
		r.judge(op, "headers", sameHeaders(first, got, changing(again, got)), first, got)
	}
}

func otherBody(r *run) {
	op := r.prepare()
	r.need(len(op.Others) > 0, "other request")
	first := r.first(op, r.by(op, op.Do))
	r.effects(op)
	for _, other := range op.Others {
		r.judgeOther(op, "mismatch", first, r.send(r.by(op, other)))
	}
	r.unlessRan(op, first)
}

// unlessRan judges that the first response is still there and that there was no second effect,
// unless the profile lets other requests run under the key.
func (r *run) unlessRan(op *operation, first Exchange) {
	if slices.ContainsFunc(r.findings, func(f Finding) bool { return strings.HasPrefix(f.Got, "ran") }) {
		return
	}
	r.replays(op, r.by(op, op.Do), first)
	r.once(op, first)
}

func otherRoute(r *run) {
	op := r.prepare()
	if !r.states("variant") {
		r.need(len(op.Routes) > 0, "other route")
	}
	first := r.first(op, r.by(op, op.Do))
	r.effects(op)
	r.has(len(op.Routes) > 0, "other route")
	var missing []int
	for i, route := range op.Routes {
		got := r.send(r.by(op, route))
		r.judgeOther(op, "route", first, got)
		if got.Status == http.StatusNotFound {
			missing = append(missing, i)
		}
	}
	if r.states("variant") {
		query, method := op.Do, op.Do
		query.Path += map[bool]string{true: "&", false: "?"}[strings.Contains(query.Path, "?")] + "auth19=1"
		method.Method = http.MethodTrace // no service has it
		r.judgeOther(op, "variant", first, r.send(r.by(op, query)))
		r.judgeOther(op, "variant", first, r.send(r.by(op, method)))
	}
	r.unlessRan(op, first)
	for _, i := range missing {
		r.exists(i)
	}
}

// exists stops a probe if the other route is not found under a new key either.
func (r *run) exists(route int) {
	op := r.prepare()
	c := r.by(op, op.Routes[route])
	if got := r.send(c); got.Status == http.StatusNotFound {
		r.stop(Unreachable, "%s %s: 404 under a new key as well", c.Method, c.Path)
	}
}

func emptyResponse(r *run) {
	op := r.prepare()
	req := op.Do
	if op.Empty != nil {
		req = *op.Empty
	}
	first := r.first(op, r.by(op, req))
	if len(first.Body) > 0 {
		r.stop(NotApplicable, "no request has an empty response")
	}
	r.replays(op, r.by(op, req), first)
	r.once(op, first)
}

func unusableKeys(r *run) {
	op := r.prepare()
	key := op.key
	for _, bad := range []struct {
		rule string
		keys []string
	}{
		{"missing", nil}, {"blank", []string{"  "}}, {"twice", []string{key, key}}, {"long", []string{key + strings.Repeat("k", 256)}},
		{"malformed", []string{`""`}}, {"malformed", []string{key + ", " + key}}, {"malformed", []string{key + ";a=b"}},
		{"malformed", []string{key + " 1"}}, {"malformed", []string{key + "-ü"}}, {"malformed", []string{`"` + key}},
	} {
		c := r.by(op, op.Do)
		c.keys = bad.keys
		r.unusable(op, bad.rule, c)
	}
	c := r.by(op, op.Do)
	c.keys = nil
	c.Path += map[bool]string{true: "&", false: "?"}[strings.Contains(c.Path, "?")] + r.Header + "=" + key
	r.unusable(op, "query", c)
	if r.states("unreadable") {
		r.unreadable(op.Do.Body[:len(op.Do.Body)/2])
		r.unreadable(op.Do.Body + strings.Repeat(" ", 2<<20))
	}
}

// unreadable judges that a body that cannot be read leaves the key to the request that is
// sent next. A server may close the connection before it has read a long one, or accept it.
func (r *run) unreadable(body string) {
	op := r.prepare()
	c := r.by(op, op.Do)
	c.Body = body
	got := r.try(c)
	readable := json.Valid([]byte(body)) || !json.Valid([]byte(op.Do.Body))
	if readable && got.succeeded() {
		return
	}
	next := r.send(r.by(op, op.Do))
	outcome := "the key is left"
	switch {
	case got.succeeded():
		outcome = "accepted"
	case !next.succeeded() || r.marked(next):
		outcome = "then " + next.Outcome()
	}
	r.judge(op, "unreadable", outcome, got, next)
	r.once(op, got, next)
}

func (r *run) unusable(op *operation, rule string, c call) {
	if !r.states(rule) {
		return
	}
	before := r.effects(op)
	got := r.send(c)
	outcome := got.Outcome()
	switch {
	case r.ran(op, before):
		outcome = "ran"
	case got.succeeded():
		r.counts(op)
	}
	r.judge(op, rule, outcome, got)
}

func failure(r *run) {
	op := r.prepare()
	r.need(op.FailBefore != nil || op.FailAfter != nil, "fail")
	if r.has(op.FailBefore != nil, "fail.before") {
		r.fails(op, r.set(op.FailBefore))
		op = r.prepare()
	}
	if r.has(op.FailAfter != nil, "fail.after") {
		r.fails(op, r.set(op.FailAfter))
	}
}

func (r *run) fails(op *operation, trap Trap) {
	failed := r.send(r.by(op, caught(op.Do, trap)))
	r.command("undo", trap.Undo)
	if failed.Status < 500 {
		r.stop(Unreachable, "the request that had to fail with 5xx got %d: %s", failed.Status, failed.Body)
	}
	left := r.effects(op)
	r.judge(op, "rollback", effects(left)+" left", failed)
	got, waited := r.retry(r.by(op, op.Do))
	switch {
	case r.later(got):
		r.judge(op, "failure", r.locked(waited), failed, got)
	case got.succeeded():
		r.judge(op, "failure", "ran as new", failed, got)
		r.once(op, failed, got)
	case got.Status == failed.Status: // the cause is gone
		r.judge(op, "failure", "replayed", failed, got)
	default:
		r.judge(op, "failure", got.Outcome(), failed, got)
	}
}

func refusal(r *run) {
	op := r.prepare()
	r.need(op.Refused != nil, "refused request")
	c := r.by(op, *op.Refused)
	first := r.send(c)
	if first.Status/100 != 4 {
		r.stop(Unreachable, "the request that had to be refused got %d: %s", first.Status, first.Body)
	}
	r.pause(r.Settle)
	r.command("remedy", op.Remedy)
	got := r.send(c)
	if op.Remedy == nil && !r.marked(got) && r.Profile.Marker[0] == "" {
		r.stop(NotApplicable, "without a remedy, a replay looks like a second refusal")
	}
	same := !got.succeeded() && alike(first, got, r.send(c))
	switch {
	case got.succeeded(), same && op.Remedy == nil && !r.marked(got):
		r.judge(op, "refusal", "ran again", first, got)
	default:
		r.judge(op, "refusal", map[bool]string{true: "replayed", false: r.compared(got, first)}[same], first, got)
		r.had(op, 0, first, got)
		if isOther := op.Do.Path != c.Path || op.Do.Body != c.Body; isOther && (r.marked(got) || same && op.Remedy != nil) {
			r.afterRefusal(op, first, got)
		}
	}
}

// afterRefusal judges another request under the key of a refusal that was replayed. A replay
// without the marker may be a second refusal, where remedy has failed.
func (r *run) afterRefusal(op *operation, first, replay Exchange) {
	other := r.send(r.by(op, op.Do))
	if !r.marked(replay) && (other.succeeded() || other.same(first)) {
		r.notef("not judged: another request after the refusal, which may look like it, or not be stored")
		return
	}
	r.judgeOther(op, "mismatch", first, other)
}

func duplicate(r *run) {
	op, first, other := r.meet(func(op *operation) call { return r.by(op, op.Do) })
	r.once(op, first, other)
	if !first.succeeded() {
		r.judge(op, "concurrent", "the first request was "+first.Outcome(), first, other)
	}
	outcome := r.compared(other, first)
	switch {
	case outcome == "replayed":
		outcome = "waited"
	case other.Status == http.StatusAccepted:
		outcome = "told to come back with 202"
	}
	r.notef("the second request %s", outcome)
	r.judge(op, "concurrent", outcome, first, other)
	r.replays(op, r.by(op, op.Do), first)
}

func otherWhileRunning(r *run) {
	op := r.prepare()
	r.need(len(op.Others) > 0, "other request")
	op, first, other := r.meet(func(op *operation) call { return r.by(op, op.Others[0]) })
	outcome := other.Outcome()
	switch n := r.effects(op); {
	case n > 1:
		r.still(op)
		outcome = "ran"
	case other.Status == http.StatusAccepted && first.Status != other.Status:
		outcome = "told to come back with 202"
	case other.succeeded() && !first.succeeded():
		outcome = "ran, and the first request was " + first.Outcome()
	case other.succeeded():
		outcome = r.accepted(op, first, other)
	}
	r.judge(op, "concurrent other", outcome, first, other)
	if !strings.HasPrefix(outcome, "ran") {
		r.once(op, first, other)
		r.judgeHidden(op, first, other)
	}
}

// twice sends a call again at the response, on a connection that is open by then, and
// opened second: a server may serve one after the other.
func (r *run) twice(c call) (first, got Exchange) {
	one, err := dial(r, c)
	if err != nil {
		r.stop(Unreachable, "%v", err)
	}
	two, err := dial(r, c)
	if err != nil {
		_ = one.Close()
		r.stop(Unreachable, "%v", err)
	}
	return one.finish(r), two.finish(r)
}

func immediately(r *run) {
	soon := 0
	for range r.Keys {
		op := r.prepare()
		c := r.by(op, op.Do)
		first, got := r.twice(c)
		if first.overloaded() || got.overloaded() && !r.Profile.Wants("immediate", got.Outcome()) {
			r.pause(time.Second)
			continue
		}
		r.succeeds(first)
		if got.From.Sub(first.To) > time.Millisecond {
			continue
		}
		soon++
		r.judge(op, "immediate", r.compared(got, first), first, got)
		r.once(op, first, got)
	}
	if soon == 0 {
		r.stop(NotApplicable, "no retry was sent within a millisecond")
	}
	r.notef("%d retries within a millisecond", soon)
}
