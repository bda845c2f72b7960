package routetest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func refusesUnusableKeys(t *testing.T, r Route) {
	for name, keys := range map[string][]string{
		"no key": nil, "a blank key": {"  "}, "an empty string": {`""`}, "a key that is sent twice": {"key-1", "key-1"},
		"a list": {"key-1, key-2"}, "a parameter": {"key-1;a=b"}, "a space": {"key 1"}, "letters beyond ASCII": {"schlüssel"},
		"a key that is too long": {strings.Repeat("k", 256)}, "an open string": {`"key-1`},
	} {
		wantRefusal(t, name, send(t, r.by(r.Request, keys...)), http.StatusBadRequest, reply{})
	}
	inQuery := r.Request
	inQuery.Path += "?Idempotency-Key=key-1"
	wantRefusal(t, "a key in the query", send(t, r.by(inQuery)), http.StatusBadRequest, reply{})
	r.wantEffects(t, 0)
}

func replaysTheFirstResponse(t *testing.T, r Route) {
	first := mustRun(t, r.by(r.Request, "key-1"))
	r.wantReplay(t, first, r.by(r.Request, "key-1"))
	r.wantEffects(t, 1)
}

func ignoresSpelling(t *testing.T, r Route) {
	first := mustRun(t, r.by(r.Request, "key-1"))
	r.wantReplay(t, first, r.by(r.Request, `"key-1"`)) // a structured field
	respelled := r.Request
	respelled.Body = respell(t, r.Request.Body)
	r.wantReplay(t, first, r.by(respelled, "key-1"))
	r.wantEffects(t, 1)
}

// respell returns the same JSON object with white space and its members in reverse order.
func respell(t *testing.T, body string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatalf("the body of the request is no JSON object: %v", err)
	}
	var text strings.Builder
	for i, name := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("\n " + string(quoted) + " : " + string(members[name]))
		if i > 0 {
			text.WriteString(" ,")
		}
	}
	return "{" + text.String() + "\n}"
}

func separatesCase(t *testing.T, r Route) {
	mustRun(t, r.by(r.Request, "key-a"))
	mustRun(t, r.by(r.Request, "key-A"))
	r.wantEffects(t, 2)
}

func refusesOtherRequests(t *testing.T, r Route) {
	first := mustRun(t, r.by(r.Request, "key-1"))
	if len(r.Others) == 0 {
		t.Error("the fixture has no other request")
	}
	for _, other := range r.Others {
		got := send(t, r.by(other, "key-1"))
		wantRefusal(t, other.Method+" "+other.Path, got, http.StatusConflict, first)
		if got.header.Get("Retry-After") != "" {
			t.Errorf("%s %s: Retry-After, though a retry cannot help", other.Method, other.Path)
		}
	}
	withQuery, otherMethod := r.Request, r.Request
	withQuery.Path += "?routetest=1"
	otherMethod.Method = http.MethodTrace // no service has it
	wantRefusal(t, "with a query", send(t, r.by(withQuery, "key-1")), 0, first)
	wantRefusal(t, "with another method", send(t, r.by(otherMethod, "key-1")), 0, first)
	r.wantEffects(t, 1)
	r.wantReplay(t, first, r.by(r.Request, "key-1"))
}

func separatesPrincipals(t *testing.T, r Route) {
	first := mustRun(t, r.by(r.Request, "key-1"))
	ofPeer := r.by(r.Request, "key-1")
	ofPeer.who = r.Peer
	theirs := mustRun(t, ofPeer)
	r.wantReplay(t, first, r.by(r.Request, "key-1"))
	r.wantReplay(t, theirs, ofPeer)
	r.wantEffects(t, 2)
}

func authenticatesBeforeAReplay(t *testing.T, r Route) {
	first := mustRun(t, r.by(r.Request, "key-1"))
	ofNobody := r.by(r.Request, "key-1")
	ofNobody.who = nil
	wantRefusal(t, "without credentials", send(t, ofNobody), http.StatusUnauthorized, first)
	r.wantEffects(t, 1)
}

func leavesKeysOfUnreadableRequests(t *testing.T, r Route) {
	cut, tooLong := r.Request, r.Request
	cut.Body = cut.Body[:len(cut.Body)/2]
	tooLong.Body += strings.Repeat(" ", 2<<20)
	wantRefusal(t, "half a body", send(t, r.by(cut, "key-1")), 0, reply{})
	// A server may close the connection before it has read all of it.
	if got, err := try(t.Context(), r.by(tooLong, "key-1")); err == nil {
		wantRefusal(t, "a body of 2 MiB", got, 0, reply{})
	}
	r.wantEffects(t, 0)
	mustRun(t, r.by(r.Request, "key-1"))
}

func keepsRefusals(t *testing.T, r Route) {
	first := send(t, r.by(r.Refused, "key-1"))
	if decided := []int{402, 409, 422}; !slices.Contains(decided, first.status) || first.replayed() {
		t.Fatalf("%d %s, replayed = %v; want a refusal by the business: %v", first.status, first.body, first.replayed(), decided)
	}
	r.wantReplay(t, first, r.by(r.Refused, "key-1"))
	wantRefusal(t, "another request", send(t, r.by(r.Request, "key-1")), http.StatusConflict, first)
	r.wantEffects(t, 0)
	mustRun(t, r.by(r.Request, "key-2"))
}

func keepsNothingOfAFailedCommand(t *testing.T, r Route) {
	need(t, r.Fail != nil, "Fail")
	r.keepsNothing(t, r.Fail)
}

// keepsNothingOfAFailedRecord finds a command that writes beside its transaction, and a
// record that is stored after the commit: either leaves an effect.
func keepsNothingOfAFailedRecord(t *testing.T, r Route) {
	need(t, r.FailRecord != nil, "FailRecord")
	r.keepsNothing(t, r.FailRecord)
}

func (r Route) keepsNothing(t *testing.T, fail func(*testing.T) (repair func())) {
	t.Helper()
	repair := fail(t)
	failed := send(t, r.by(r.Request, "key-1"))
	repair()
	if failed.status < 500 {
		t.Fatalf("%d %s, want the failure", failed.status, failed.body)
	}
	r.wantEffects(t, 0)
	first := mustRun(t, r.by(r.Request, "key-1"))
	r.wantReplay(t, first, r.by(r.Request, "key-1"))
	r.wantEffects(t, 1)
}

func runsOnceAmongMany(t *testing.T, r Route) {
	hold := Hold{Await: func() {}, Release: func() {}}
	if r.Hold != nil { // so that none ends before all have begun
		hold = r.Hold(t)
	}
	replies := make([]reply, 12)
	var all sync.WaitGroup
	for i := range replies {
		c := r.by(r.Request, "key-1")
		c.url = []string{r.URL, r.Replica}[i%2]
		all.Go(func() {
			var err error
			if replies[i], err = try(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	hold.Await()
	time.Sleep(patience) // for a service that would let a second one run
	hold.Release()
	all.Wait()
	r.wantEffects(t, 1)
	retry := send(t, r.by(r.Request, "key-1"))
	firsts := 0
	for _, got := range replies {
		if got.succeeded() && !got.replayed() {
			firsts++
		}
		wantSameOrLater(t, got, retry)
	}
	if firsts != 1 {
		t.Errorf("%d of the responses are first ones, want 1", firsts)
	}
}

// wantSameOrLater checks the response of a duplicate: the first response, or 409 with
// Retry-After.
func wantSameOrLater(t *testing.T, got, first reply) {
	t.Helper()
	same := got.status == first.status && bytes.Equal(got.body, first.body)
	later := got.status == http.StatusConflict && got.header.Get("Retry-After") != ""
	if !same && !later {
		t.Errorf("got %d %s; want %d %s, or 409 with Retry-After", got.status, got.body, first.status, first.body)
	}
}

// patience is how long a case lets something happen that must not happen. A slow machine
// may hide a fault; it never reports one.
const patience = 250 * time.Millisecond

func answersDuplicatesOfARunningCommand(t *testing.T, r Route) {
	need(t, r.Hold != nil, "Hold")
	hold := r.Hold(t)
	first := inBackground(t, t.Context(), r.by(r.Request, "key-1"))
	hold.Await()
	duplicate := r.by(r.Request, "key-1")
	duplicate.url = r.Replica
	second := inBackground(t, t.Context(), duplicate)
	var got reply
	select {
	case got = <-second: // it was told to come back
	case <-time.After(patience): // it waits
		hold.Release()
		got = <-second
	}
	hold.Release()
	done := <-first
	if !done.succeeded() || done.replayed() {
		t.Errorf("the first request got %d %s", done.status, done.body)
	}
	wantSameOrLater(t, got, done)
	r.wantReplay(t, done, r.by(r.Request, "key-1"))
	r.wantEffects(t, 1)
}

// inBackground sends a call, and returns the channel of its response: the zero reply if
// there is none.
func inBackground(t *testing.T, ctx context.Context, c call) <-chan reply { //nolint:revive // t comes first in a test
	t.Helper()
	replies := make(chan reply, 1)
	go func() {
		got, err := try(ctx, c)
		if err != nil {
			got = reply{}
		}
		replies <- got
	}()
	return replies
}

func finishesTheCommandOfAClientThatHungUp(t *testing.T, r Route) {
	need(t, r.Hold != nil, "Hold")
	hold := r.Hold(t)
	ctx, hangUp := context.WithCancel(t.Context())
	first := inBackground(t, ctx, r.by(r.Request, "key-1"))
	hold.Await()
	hangUp()
	<-first
	time.Sleep(patience) // for a service that would stop its command now
	hold.Release()
	retry := send(t, r.by(r.Request, "key-1"))
	if !retry.succeeded() || !retry.replayed() {
		t.Errorf("the retry got %d %s, replayed = %v; want the response of the first request", retry.status, retry.body, retry.replayed())
	}
	r.wantEffects(t, 1)
}

func keepsNothingOfACrash(t *testing.T, r Route) {
	need(t, r.Hold != nil, "Hold")
	hold := r.Hold(t)
	first := inBackground(t, t.Context(), r.by(r.Request, "key-1"))
	hold.Await()
	hold.Crash()
	if got := <-first; got.status != 0 && got.status < 500 {
		t.Errorf("the request got %d %s although its command crashed", got.status, got.body)
	}
	hold.Release()
	r.wantEffects(t, 0)
	mustRun(t, r.by(r.Request, "key-1"))
	r.wantEffects(t, 1)
}

func answersAfterExpiry(t *testing.T, r Route) {
	need(t, r.Expire != nil, "Expire")
	first := mustRun(t, r.by(r.Request, "key-1"))
	for range 2 {
		r.Expire(t)
		late := send(t, r.by(r.Request, "key-1"))
		if late.status != first.status {
			t.Errorf("a retry after expiry got %d %s, want %d", late.status, late.body, first.status)
		}
		r.wantEffects(t, 1)
		r.Expire(t)
		for _, other := range r.Others {
			if other.Path == r.Request.Path { // the second line knows the keys of a resource
				wantRefusal(t, "another request after expiry", send(t, r.by(other, "key-1")), http.StatusConflict, first)
			}
		}
		r.wantEffects(t, 1)
	}
}
