package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A hook that expires nothing proves nothing.
func TestProbe_NoticesThatNothingExpired(t *testing.T) {
	t.Parallel()
	path := describe(t, newCluster(t, "auth-19", ""), `expire: {exec: "true"}`)
	status, out := command19(t, "run", path, "T")
	if want := "not applicable  expire left the record: the answer is still a replay\n"; status != kept || !strings.Contains(out, want) {
		t.Errorf("status %d, want %q: %s", status, want, out)
	}
}

// A route that does not exist is no refusal of the key.
func TestProbe_NoticesAWrongRoute(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	text := strings.Replace(mustRead(t, describe(t, c, "")), "/refunds", "/nowhere", 1)
	status, out := command19(t, "run", write(t, text), "G")
	if want := "unreachable     POST /nowhere: 404 under a new key as well\n"; status != unusable || !strings.Contains(out, want) {
		t.Errorf("status %d, want %q: %s", status, want, out)
	}
}

// Lesson 4: a lost connection is no reason to send a request again, and nothing is folded.
func TestProbe_SendsRequestsRaw(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	received := make(chan string, 9)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text := make([]byte, 4096)
			n, _ := conn.Read(text)
			received <- string(text[:n])
			_ = conn.Close()
		}
	}()
	f := &file{Servers: []string{"http://" + listener.Addr().String()}, Profile: "auth-19", Timeout: 1e9, Patience: 1e9, Do: request{Path: "/x"}}
	f.Effects.Exec, f.path = "echo 0", write(t, small)
	target, err := f.target(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Check(t.Context()); err == nil {
		t.Error("a server that never answers was not noticed")
	}
	if text := <-received; !strings.HasPrefix(text, "POST /x HTTP/1.1\r\n") || strings.Count(text, "Idempotency-Key: ") != 1 {
		t.Errorf("received %q", text)
	}
	if n := len(received); n != 0 {
		t.Errorf("%d more requests were sent", n)
	}
}

// Lesson 5: the answers of this server are perfect, and its effects are not.
func TestProbe_BelievesEffectsOnly(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, effects := map[string]bool{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"data": %d}`, effects)
			return
		}
		effects++
		if key := r.Header.Get("Idempotency-Key"); seen[key] {
			w.Header().Set("Idempotent-Replayed", "true")
		} else {
			seen[key] = true
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": 1}`)
	}))
	t.Cleanup(server.Close)
	status, out := command19(t, "run", smallAt(t, server.URL, ""), "A")
	if status != broken || !strings.Contains(out, "once: 2 effects, not 1") {
		t.Errorf("status %d: %s", status, out)
	}
}

// The second effect of this server is in the list only at the second read after the replay.
func TestProbe_WaitsForAnEffectThatComesLate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, effects, late := map[string]bool{}, 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"data": %d}`, effects)
			effects, late = effects+late, 0
			return
		}
		if key := r.Header.Get("Idempotency-Key"); seen[key] {
			late++
		} else {
			seen[key] = true
			effects++
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": 1}`)
	}))
	t.Cleanup(server.Close)

	status, out := command19(t, "run", smallAt(t, server.URL, ""), "A")

	if status != broken || !strings.Contains(out, "once: 2 effects, not 1") {
		t.Errorf("status %d: %s", status, out)
	}
}

// A server may list the rows of their owner only. Then the answer says whether the key was
// shared, even if a replay has another status.
func TestProbe_JudgesAnInvisibleEffectByTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shared bool
		replay int
		want   string
	}{
		"own keys":               {false, http.StatusCreated, "pass            the effect of b is not visible to a\n"},
		"shared keys":            {true, http.StatusCreated, "fail            scope: replayed\n"},
		"shared keys, other 200": {true, http.StatusOK, "fail            scope: replayed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&owned{shared: c.shared, replay: c.replay, rows: map[string][]string{}})
			t.Cleanup(server.Close)
			path := smallAt(t, server.URL, "profile: draft-07\nprincipals: {a: {Authorization: a-token}, b: {Authorization: b-token}}")
			if _, out := command19(t, "run", path, "F"); !strings.Contains(out, c.want) {
				t.Errorf("%q is missing: %s", c.want, out)
			}
		})
	}
}

// White space behind a body is no fault, and a server may read all of it.
func TestProbe_LetsAServerReadALongBody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	path := describe(t, c, "")
	if err := c.turn(true, "long-bodies")(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, out := command19(t, "run", path, "P"); status != kept || !strings.Contains(out, "1 probes: 1 pass") {
		t.Errorf("status %d: %s", status, out)
	}
}

// owned shows each caller its rows.
type owned struct {
	shared bool // keys belong to everybody
	replay int  // the status of a replay

	mu   sync.Mutex
	rows map[string][]string // by owner: key and row
}

func (o *owned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	who, key := r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key")
	if r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": append([]string{}, o.rows[who]...)})
		return
	}
	for owner, rows := range o.rows {
		for i, row := range rows {
			if row == key && (o.shared || owner == who) {
				w.WriteHeader(o.replay)
				_, _ = fmt.Fprintf(w, `{"owner": %q, "row": %d}`, owner[:1], i)
				return
			}
		}
	}
	o.rows[who] = append(o.rows[who], key)
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"owner": %q, "row": %d}`, who[:1], len(o.rows[who])-1)
}

// A probe that saw no overlap does not pass: this hold holds nothing.
func TestProbe_SaysThatNoTwoRequestsMet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	path := smallAt(t, c.processes[0].url, `
principals: {a: {Authorization: Bearer token-of-a}}
other: {body: {amount: 200}}
hold: {before: {headers: {X-Delay: "1000"}}}
`)
	status, out := command19(t, "run", path, "B", "E", "H")
	if n := strings.Count(out, "not applicable"); status != kept || n != 4 || !strings.Contains(out, "no two requests met") {
		t.Errorf("status %d: %s", status, out)
	}
}
