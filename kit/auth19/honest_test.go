package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// modest is a server of the draft in memory. Its answers go through send.
type modest struct {
	send   func(w http.ResponseWriter, r *http.Request, status int, body string)
	status int // of the first response; after 202, the effect comes later
	// request returns the part of a request that a retry repeats. It may be nil.
	request func(body string) string

	mu      sync.Mutex
	kept    map[string][2]string // request and response by principal and key
	effects int
}

func (m *modest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	who := r.Header.Get("Authorization") + r.Header.Get("X-User")
	body, _ := io.ReadAll(r.Body)
	id, request := who+r.Header.Get("Idempotency-Key"), r.URL.Path+string(body)
	if m.request != nil {
		request = m.request(request)
	}
	kept, found := m.kept[id]
	switch {
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
		if m.status != http.StatusAccepted {
			m.effects++
			return
		}
		time.AfterFunc(1500*time.Millisecond, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.effects++
		})
	}
}

func (m *modest) open(t *testing.T, more string) (path string) {
	t.Helper()
	m.kept = map[string][2]string{}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return write(t, strings.Replace(small, "http://127.0.0.1:1", server.URL, 1)+"other: {body: {amount: 200}}\n"+more)
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
			if status != kept || strings.Contains(out, "headers: another") {
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
	m := &modest{send: reply, status: http.StatusAccepted}
	status, out := command19(t, "run", m.open(t, "principals: {a: {Authorization: Bearer token-of-a}}"), "A")
	if want := "not supported: the effect came 1."; status != unusable || !strings.Contains(out, want) || strings.Contains(out, "A  L1") {
		t.Errorf("status %d, want %q: %s", status, want, out)
	}
}
