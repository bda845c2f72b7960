package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// unusual is a server that looks at the key only, and answers in an unusual way.
type unusual struct {
	mu        sync.Mutex
	kept      map[string]string
	overtaken sync.Cond
}

func (u *unusual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Header.Get("X-Hold") != "" {
		u.overtaken.Wait()
	}
	first, found := u.kept[key]
	switch {
	case r.Header.Get("Authorization") == "":
		reply(w, r, http.StatusUnauthorized, `{"error":"who is it?"}`)
	case r.Method == http.MethodGet:
		reply(w, r, http.StatusOK, fmt.Sprintf(`{"data":%d}`, len(u.kept)))
	case r.Header.Get("X-Hold") != "":
		reply(w, r, http.StatusInternalServerError, `{"error":"duplicate key"}`)
	case found:
		reply(w, r, http.StatusOK, `{"cached":true,"data":`+first+`}`)
	default:
		u.kept[key] = fmt.Sprintf(`{"id":%d,"request":%s}`, len(u.kept), body)
		reply(w, r, http.StatusCreated, u.kept[key])
		u.overtaken.Broadcast()
	}
}

// open returns the path of a description.
func (u *unusual) open(t *testing.T) string {
	t.Helper()
	u.kept, u.overtaken.L = map[string]string{}, &u.mu
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return write(t, strings.NewReplacer("http://127.0.0.1:1", server.URL, "100", "100, note: '${canary}'").Replace(small)+
		"principals: {a: {Authorization: Bearer token-of-a}, b: {Authorization: Bearer token-of-b}}\n"+
		"other: {body: {amount: 200}}\nhold: {before: {headers: {X-Hold: please}}}\n")
}

func TestRun_NoticesAKeyThatARaceLocks(t *testing.T) {
	t.Parallel()
	third := every(3)
	m := &modest{send: reply, status: http.StatusCreated, refuse: func(w http.ResponseWriter, r *http.Request) bool {
		locked := third()
		if locked {
			third = func() bool { return true }
			reply(w, r, http.StatusConflict, "")
		}
		return locked
	}}
	status, out := command19(t, "run", m.open(t, "patience: 100ms\nprincipals: {a: {Authorization: Bearer token-of-a}}"), "C")
	if want := "crowd: locked for"; status != broken || !strings.Contains(out, want) {
		t.Errorf("status %d, no %q: %s", status, want, out)
	}
}

// A server may take keys only as the draft writes them: a UUID, in quotes.
func TestRun_WritesEachKeyAsTheProfileDoes(t *testing.T) {
	t.Parallel()
	written := regexp.MustCompile(`^"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"$`)
	var odd atomic.Value
	prepared := map[string]int{"/carts": http.StatusCreated, "/limit": http.StatusNoContent, "/refused": http.StatusPaymentRequired}
	m := &modest{send: reply, status: http.StatusCreated, refuse: func(w http.ResponseWriter, r *http.Request) bool {
		if key := r.Header.Get("Idempotency-Key"); !written.MatchString(key) {
			odd.Store(key)
		}
		status, found := prepared[r.URL.Path]
		if found {
			w.WriteHeader(status)
		}
		return found
	}}
	path := m.open(t, "before: {path: /carts}\nrefused: {path: /refused}\nremedy: {path: /limit}\nprincipals: {a: {Authorization: Bearer token-of-a}}")

	status, out := command19(t, "run", path, "A", "R")

	if status != kept || odd.Load() != nil {
		t.Errorf("the server got the key %v, status %d: %s", odd.Load(), status, out)
	}
}

func TestRun_FindsALostKey(t *testing.T) {
	t.Parallel()
	m := &modest{send: reply, status: http.StatusCreated, forgets: true}
	status, out := command19(t, "run", m.open(t, "hold: {before: {headers: {X-Hold: before}}, after: {headers: {X-Hold: after}}}\n"+
		"principals: {a: {Authorization: Bearer token-of-a}}"), "H")
	if want := "once: 2 effects, not 1"; status != broken || !strings.Contains(out, want) {
		t.Errorf("status %d, no %q: %s", status, want, out)
	}
}

func TestRun_FindsTheResponseToAnotherRequest(t *testing.T) {
	t.Parallel()
	var oldest string
	sent := map[string]bool{}
	m := &modest{status: http.StatusCreated, send: func(w http.ResponseWriter, r *http.Request, status int, body string) {
		if again := sent[body]; r.Method == http.MethodPost {
			sent[body], oldest = true, cmp.Or(oldest, body)
			body = map[bool]string{true: oldest, false: body}[again]
			w.Header().Set("Location", "/charges/"+body)
		}
		reply(w, r, status, body)
	}}

	status, out := command19(t, "run", m.open(t, "principals: {a: {Authorization: Bearer token-of-a}}"), "A")

	if want := "replay: the response to another request"; status != broken || !strings.Contains(out, want) {
		t.Errorf("status %d, no %q: %s", status, want, out)
	}
}

// A counter that others move proves nothing.
func TestRun_CannotTellWhileOthersUseTheSystem(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	m := &modest{status: http.StatusCreated, send: func(w http.ResponseWriter, r *http.Request, status int, body string) {
		if r.Method == http.MethodGet {
			var effects int64
			_, _ = fmt.Sscanf(body, `{"data":%d}`, &effects)
			body = fmt.Sprintf(`{"data":%d}`, effects+max(0, reads.Add(1)-4)) // theirs begin late
		}
		reply(w, r, status, body)
	}}
	status, out := command19(t, "run", m.open(t, "principals: {a: {Authorization: Bearer token-of-a}}"), "D")
	if want := "cannot tell     effects changes while nothing is sent"; status != kept || !strings.Contains(out, want) {
		t.Errorf("status %d, no %q: %s", status, want, out)
	}
}

func TestRun_SaysWhatTheExchangesShow(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"D": "mismatch: replayed in another form",
		"O": "differs         immediate: status 200",
		"E": "concurrent other: ran, and the first request was refused 500",
		"B": "concurrent: the first request was refused 500; wanted: refused 409. Effects before: 1, after: 2.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out := command19(t, "run", (&unusual{}).open(t), name)

			if !strings.Contains(out, want) {
				t.Errorf("no %q: %s", want, out)
			}
		})
	}
}
