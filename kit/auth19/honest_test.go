package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/kit/auth19/reference"
	"example.com/orders/kit/guard/routetest/probe"
)

var everyProfile = flag.Bool("profiles", false, "ask honest servers in every profile")

// shapes are the ways in which an honest server may look, with the verdicts in draft-07 that
// are no pass.
var shapes = map[string]string{
	"has one body":                     "",
	"has one body, lists to the owner": "cannot tell: F",
	"has one body, has two lists":      "",
	"has no body":                      "",
	"has a word as body":               "",
	"lists to the owner":               "",
	"lists the newest":                 "cannot tell: G L N K B E O C H I J M T F S",
	"has two lists":                    "",
	"revalidates its list":             "",
	"limits the rate":                  "",
	"boots behind a proxy":             "",
	"boots behind a proxy, alone":      "not applicable: C",
	"leases its keys":                  "",
	"locks with 423":                   "differs: B E",
	"accepts duplicates":               "differs: B E",
	"traces each answer":               "",
	"has one worker":                   "differs: B",
	"has one worker, alone":            "differs: B; not applicable: C",
}

// strict are the profiles that name the status of a duplicate.
var strict = map[string]string{"locks with 423 acp": "E", "accepts duplicates acp": "E"}

// No answer of an honest server is a failure.
func TestProbes_BlameNoHonestServer(t *testing.T) {
	t.Parallel()
	names := []string{"draft-07", "acp"}
	if *everyProfile {
		names = profileNames()
	}
	for shape, expected := range shapes {
		for _, profile := range names {
			t.Run(shape+" "+profile, func(t *testing.T) {
				t.Parallel()
				target := openCluster(t, reference.Config{Profile: profile, Shape: shape}).target(newSeed())
				if strings.HasSuffix(shape, "alone") {
					target.Servers = target.Servers[:1]
				}
				want := map[string]probe.Verdict{}
				for part := range strings.SplitSeq(expected, "; ") {
					verdict, letters, _ := strings.Cut(part, ": ")
					for name := range strings.FieldsSeq(letters) {
						want[name] = probe.Verdict(verdict)
					}
				}

				found := ask(t, target)

				if profile == "draft-07" && !maps.Equal(found, want) {
					t.Errorf("found %v, want %v", found, want)
				}
				for name, verdict := range found {
					if verdict == probe.Fail && strict[shape+" "+profile] != name || verdict == probe.Unreachable {
						t.Errorf("%s: %s", name, verdict)
					}
				}
			})
		}
	}
}

// PayPal refuses one of two requests with a status of the choice of each API.
func TestProbes_TakeEachRefusalThatTheProfileAllowsADuplicate(t *testing.T) {
	t.Parallel()
	found := ask(t, openCluster(t, reference.Config{Profile: "paypal", Shape: "locks with 422"}).target(newSeed()))
	if len(found) > 0 {
		t.Errorf("not passed: %v", found)
	}
}

// modest is a server of the draft in memory. Its answers go through send.
type modest struct {
	send   func(w http.ResponseWriter, r *http.Request, status int, body string)
	status int           // of the first response
	late   time.Duration // until the counter shows an effect
	// request returns the part of a request that a retry repeats. It may be nil.
	request func(body string) string
	// refuse answers a POST that is not run. It may be nil.
	refuse func(w http.ResponseWriter, r *http.Request) bool
	// forgets: the key is lost with a client that leaves after the effect.
	forgets bool

	held    sync.Map // the places at which a command was held
	mu      sync.Mutex
	kept    map[string][2]string // request and response by principal and key
	effects int
}

func (m *modest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.hold(r, "before")
	m.mu.Lock()
	defer m.mu.Unlock()
	who := r.Header.Get("Authorization") + r.Header.Get("X-User")
	id, request := who+r.Header.Get("Idempotency-Key"), r.URL.Path+string(body)
	if m.request != nil {
		request = m.request(request)
	}
	kept, found := m.kept[id]
	switch {
	case r.Method == http.MethodPost && m.refuse != nil && m.refuse(w, r):
	case who == "":
		m.send(w, r, http.StatusUnauthorized, `{"error":"who is it?"}`)
	case r.Method == http.MethodGet:
		m.send(w, r, http.StatusOK, fmt.Sprintf(`{"data":%d}`, m.effects))
	case found && kept[0] != request:
		m.send(w, r, http.StatusUnprocessableEntity, `{"error":"another request has this key"}`)
	case found:
		m.send(w, r, m.status, kept[1])
	default:
		m.kept[id] = [2]string{request, fmt.Sprintf(`{"id":%d,"owner":%q}`, len(m.kept), r.Header.Get("X-User"))}
		m.send(w, r, m.status, m.kept[id][1])
		if left := m.hold(r, "after"); left && m.forgets {
			delete(m.kept, id)
		}
		if m.late == 0 {
			m.effects++
			return
		}
		time.AfterFunc(m.late, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.effects++
		})
	}
}

// hold holds a command at the place that its header names, and reports whether the client
// left. The first one takes half a second, from which the tester learns how long that is.
// Where a test is about clients that leave, the others wait for it.
func (m *modest) hold(r *http.Request, place string) (left bool) {
	if r.Header.Get("X-Hold") != place {
		return false
	}
	if _, known := m.held.LoadOrStore(place, true); known && m.forgets {
		<-r.Context().Done()
		return true
	}
	time.Sleep(500 * time.Millisecond)
	return r.Context().Err() != nil
}

func (m *modest) open(t *testing.T, more string) (path string) {
	t.Helper()
	m.kept = map[string][2]string{}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return smallAt(t, server.URL, "other: {body: {amount: 200}}\n"+more)
}

func reply(w http.ResponseWriter, _ *http.Request, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestRun_BlamesNoHonestServer(t *testing.T) {
	t.Parallel()
	const tokens = "principals: {a: {Authorization: Bearer token-of-a}, b: {Authorization: Bearer token-of-b}}"
	for name, c := range map[string]struct {
		more string
		send func(w http.ResponseWriter, r *http.Request, status int, body string)
	}{
		"a trace in each answer": {tokens, func(w http.ResponseWriter, r *http.Request, status int, body string) {
			reply(w, r, status, strings.Replace(body, "{", fmt.Sprintf(`{"trace":%d,`, time.Now().UnixNano()), 1))
		}},
		"equal JSON in other bytes": {tokens, func(w http.ResponseWriter, r *http.Request, status int, body string) {
			reply(w, r, status, body+strings.Repeat(" ", rand.IntN(1000)))
		}},
		"a principal's name in the body": {"principals: {a: {X-User: alice-the-first}, b: {X-User: bob-the-second}}", reply},
		"a short token in the body":      {"principals: {a: {Authorization: id}, b: {Authorization: owner}}", reply},
		"headers that are no secret": {`principals: {a: {Authorization: Bearer token-of-a, Accept: application/json, X-Api-Version: "1"}}`, func(w http.ResponseWriter, r *http.Request, status int, body string) {
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			reply(w, r, status, body)
		}},
		"a cookie that is set again": {"principals: {a: {Authorization: Bearer token-of-a, Cookie: session=c7d1e9a0b3f24865}, b: {Authorization: Bearer token-of-b}}", func(w http.ResponseWriter, r *http.Request, status int, body string) {
			w.Header().Set("Set-Cookie", r.Header.Get("Cookie"))
			reply(w, r, status, body)
		}},
		"packed differently each time": {tokens, func(w http.ResponseWriter, _ *http.Request, status int, body string) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			packed := gzip.NewWriter(w)
			packed.ModTime = time.Now()
			_, _ = io.WriteString(packed, body)
			_ = packed.Close()
		}},
		"times and traces in headers": {tokens + "\nprofile: auth-19", func(w http.ResponseWriter, r *http.Request, status int, body string) {
			for _, name := range []string{"Expires", "ETag", "X-Served-By", "X-Trace"} {
				w.Header().Set(name, fmt.Sprint(time.Now().UnixNano()))
			}
			reply(w, r, status, body)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &modest{send: c.send, status: http.StatusCreated}
			status, out := command19(t, "run", m.open(t, c.more), "A", "D", "F", "S")
			if status != kept || strings.Contains(out, "another body") || strings.Contains(out, "headers: another") {
				t.Error(out)
			}
		})
	}
}

// every returns a function that reports whether it is called for the nth time.
func every(n int64) func() bool {
	var calls atomic.Int64
	return func() bool { return calls.Add(1)%n == 0 }
}

func TestRun_BlamesNoServerForItsLoad(t *testing.T) {
	t.Parallel()
	seventh, third := every(7), every(3)
	for name, c := range map[string]struct {
		probe string
		m     *modest
	}{
		"a counter that lags": {"H", &modest{late: 400 * time.Millisecond}},
		"a retry that is one too many": {"O", &modest{refuse: func(w http.ResponseWriter, r *http.Request) bool {
			busy := seventh()
			if busy {
				w.Header().Set("Retry-After", "1")
				reply(w, r, http.StatusServiceUnavailable, "")
			}
			return busy
		}}},
		"a duplicate that has no answer": {"C", &modest{refuse: func(http.ResponseWriter, *http.Request) bool {
			if third() {
				panic(http.ErrAbortHandler)
			}
			return false
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.m.send, c.m.status = reply, http.StatusCreated
			if status, out := command19(t, "run", c.m.open(t, "hold: {before: {headers: {X-Hold: before}}}\nprincipals: {a: {Authorization: Bearer token-of-a}}"), c.probe); status != kept {
				t.Error(out)
			}
		})
	}
}

func TestRun_NoticesALocationThatChanges(t *testing.T) {
	t.Parallel()
	m := &modest{status: http.StatusCreated, send: func(w http.ResponseWriter, r *http.Request, status int, body string) {
		w.Header().Set("Location", fmt.Sprint(time.Now().UnixNano()))
		reply(w, r, status, body)
	}}
	status, out := command19(t, "run", m.open(t, "profile: auth-19\nprincipals: {a: {Authorization: Bearer token-of-a}}"), "A")
	if status != broken || !strings.Contains(out, "headers: another Location") {
		t.Errorf("status %d: %s", status, out)
	}
}

// What auth19 cannot judge is said before it judges anything.
func TestRun_RefusesEffectsThatComeLater(t *testing.T) {
	t.Parallel()
	m := &modest{send: reply, status: http.StatusAccepted, late: 1500 * time.Millisecond}
	status, out := command19(t, "run", m.open(t, "principals: {a: {Authorization: Bearer token-of-a}}"), "A")
	_, rest, _ := strings.Cut(out, "not supported: the effect came ")
	waited, _, _ := strings.Cut(rest, " after the answer 202")
	if d, err := time.ParseDuration(waited); err != nil || d < m.late || status != unusable || strings.Contains(out, "A  L1") {
		t.Errorf("status %d, want that the effect came %v later: %s", status, m.late, out)
	}
}
