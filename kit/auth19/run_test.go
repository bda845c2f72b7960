package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/orders/kit/guard/routetest/probe"
)

// describe writes a description of the reference server, with the hooks that need no kill.
func describe(t *testing.T, c *cluster, more string) string {
	t.Helper()
	return write(t, fmt.Sprintf(`
server: [%s, %s]
profile: auth-19
principals: {a: {Authorization: Bearer token-of-a}, b: {Authorization: Bearer token-of-b}}
do: {path: /charges, body: {amount: 100, note: "${canary}"}}
other: {body: {amount: 200}}
routes: {path: /refunds}
empty: {path: /quiet}
refused: {body: {amount: 2000}}
remedy: {path: /limit, body: {}}
effects: {get: /charges, pointer: /data}
fail:
  before: {exec: touch %[3]s/fail-before, undo: rm %[3]s/fail-before}
  after: {exec: touch %[3]s/fail-after, undo: rm %[3]s/fail-after}
hold:
  before:
    exec: touch %[3]s/hold-before
    await: until [ -e %[3]s/held ]; do sleep 0.01; done
    release: rm -f %[3]s/hold-before %[3]s/held
store: {down: touch %[3]s/store-down, up: rm %[3]s/store-down}
patience: 3s
%s`, c.processes[0].url, c.processes[1].url, c.dir, more))
}

// command runs a command line and returns its status and both outputs.
func command19(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var text bytes.Buffer
	if len(args) > 0 && args[0] == "run" {
		args = append(args, "--yes")
	}
	return run(t.Context(), args, console{out: &text, err: &text}), text.String()
}

func TestRun_PassesTheReference(t *testing.T) {
	t.Parallel()
	path := describe(t, newCluster(t, "auth-19", ""), "")
	status, out := command19(t, "run", path, "--level", "L5")
	if status != kept || !strings.Contains(out, "19 probes: 16 pass, 3 not applicable") {
		t.Errorf("status %d: %s", status, out)
	}
}

// A failure prints evidence that nobody can dispute: both requests, both responses, the effects, the
// sentence. Tokens are masked.
func TestRun_PrintsTheEvidence(t *testing.T) {
	t.Parallel()
	path := describe(t, newCluster(t, "auth-19", "runs another body"), "")
	status, out := command19(t, "run", path, "D")
	for _, want := range []string{
		"D  L1  another request with the key is refused", "mismatch: ran; wanted: refused 409. Effects before: 1, after: 3.",
		"A key that belongs to another request is refused with 409.", `-d '{"amount":200}'`, "HTTP/1.1 201", "Bearer <token of a>",
		"Passing every probe proves nothing; failing one proves something.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(out, "$ curl -i -X POST"); status != broken || n != 2 || strings.Contains(out, "token-of") {
		t.Errorf("status %d, %d requests: %s", status, n, out)
	}
}

func TestRun_SaysWhyItIsImpossible(t *testing.T) {
	t.Parallel()
	path := describe(t, newCluster(t, "auth-19", ""), "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broke := write(t, strings.Replace(string(text), "do: {path: /charges", "do: {path: /nowhere", 1))
	for want, args := range map[string][]string{
		"Usage": {}, "run needs a file": {"run"}, "no such file": {"run", "/nowhere.yaml"},
		"no probe is called Z":     {"run", path, "Z"},
		"--level L9":               {"run", path, "--level", "L9"},
		"flag provided but not":    {"run", path, "--fast"},
		"connection refused":       {"run", write(t, small)},
		"was refused 404":          {"run", broke},
		"no profile is called xyz": {"explain", "--profile", "xyz"},
		"auth-19 is a profile: auth19 explain --profile auth-19": {"explain", "auth-19"},
	} {
		status, out := command19(t, args...)
		if status != unusable || !strings.Contains(out, strings.Replace(want, "Usage", "auth19 run FILE", 1)) {
			t.Errorf("%v: status %d, want %d and %q: %s", args, status, unusable, want, out)
		}
	}
}

// Lesson 1: keys are fresh for each run, the seed is printed, and it repeats them on a server
// that has not seen them.
func TestRun_PrintsTheSeedAndRepeatsItsKeys(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "runs another body")
	path := describe(t, c, "")
	_, first := command19(t, "run", path, "D")
	_, second := command19(t, "run", path, "D")
	seed := regexp.MustCompile(`seed (\d+)`).FindStringSubmatch(first)[1]
	_, used := command19(t, "run", path, "D", "--seed", seed)
	_, repeated := command19(t, "run", describe(t, newCluster(t, "auth-19", "runs another body"), ""), "D", "--seed", seed)
	key := func(out string) string {
		return regexp.MustCompile(`Idempotency-Key: ([0-9a-f-]{36})`).FindStringSubmatch(out)[1]
	}
	if key(first) == key(second) || key(first) != key(repeated) {
		t.Errorf("the keys are %s, %s and %s", key(first), key(second), key(repeated))
	}
	if !strings.Contains(used, "a run with seed "+seed+" has used the keys") {
		t.Errorf("the same server got the same keys: %s", used)
	}
}

// Lesson 3: a question that was not asked is no pass, and the summary counts it.
func TestRun_NotApplicableIsNoPass(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	path := write(t, strings.Replace(small, "http://127.0.0.1:1", c.processes[0].url, 1)+"principals: {a: {Authorization: Bearer token-of-a}}")
	status, out := command19(t, "run", path, "A", "D", "C", "H", "I", "T", "F")
	if status != kept || !strings.Contains(out, "7 probes: 1 pass, 6 not applicable") || !strings.Contains(out, "one process only") {
		t.Errorf("status %d: %s", status, out)
	}
}

// A part of a question that was not asked is named.
func TestRun_NamesThePartThatIsNotAsked(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	path := write(t, strings.Replace(small, "http://127.0.0.1:1", c.processes[0].url, 1)+fmt.Sprintf(`
profile: auth-19
principals: {a: {Authorization: Bearer token-of-a}}
fail: {after: {exec: touch %[1]s/fail-after, undo: rm %[1]s/fail-after}}
`, c.dir))
	status, out := command19(t, "run", path, "G", "K", "S")
	for name, want := range map[string]string{
		"G": "not asked: there is no other route", "K": "not asked: there is no fail.before",
		"S": "not asked: there is no ${canary} in do; not asked: there is no second principal",
	} {
		if !regexp.MustCompile(name + `  L\d .* pass +` + regexp.QuoteMeta(want) + "\n").MatchString(out) {
			t.Errorf("status %d: %s lacks %q: %s", status, name, want, out)
		}
	}
}

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
	status, out := command19(t, "run", write(t, strings.Replace(small, "http://127.0.0.1:1", server.URL, 1)), "A")
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
			text := strings.Replace(small, "http://127.0.0.1:1", server.URL, 1) + "profile: draft-07\nprincipals: {a: {Authorization: a-token}, b: {Authorization: b-token}}"
			if _, out := command19(t, "run", write(t, text), "F"); !strings.Contains(out, c.want) {
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
	path := write(t, strings.Replace(small, "http://127.0.0.1:1", c.processes[0].url, 1)+`
principals: {a: {Authorization: Bearer token-of-a}}
other: {body: {amount: 200}}
hold: {before: {headers: {X-Delay: "1000"}}}
`)
	status, out := command19(t, "run", path, "B", "E", "H")
	if n := strings.Count(out, "not applicable"); status != kept || n != 4 || !strings.Contains(out, "no two requests met") {
		t.Errorf("status %d: %s", status, out)
	}
}

// Lesson 6: JUnit has one case for each probe, its totals are those of the run, and control
// bytes are escaped.
func TestReport_FormsAgree(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "runs another body")
	dir := t.TempDir()
	forms := map[string]string{"json": filepath.Join(dir, "r.json"), "junit": filepath.Join(dir, "r.xml"), "markdown": filepath.Join(dir, "r.md")}
	args := []string{"run", describe(t, c, "known: [R]"), "A", "D", "I", "R"}
	for form, path := range forms {
		args = append(args, "--"+form, path)
	}
	status, out := command19(t, args...)
	var r report
	var suite junitSuite
	text := map[string][]byte{}
	for form, path := range forms {
		var err error
		if text[form], err = os.ReadFile(path); err != nil {
			t.Fatal(err, out)
		}
	}
	if err := json.Unmarshal(text["json"], &r); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text["junit"], &suite); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for n := range maps.Values(r.Totals) {
		sum += n
	}
	if status != broken || sum != 4 || len(r.Results) != 4 || suite.Tests != 4 || len(suite.Cases) != 4 {
		t.Errorf("status %d, %d verdicts, %d results, %d tests, %d cases", status, sum, len(r.Results), suite.Tests, len(suite.Cases))
	}
	if suite.Failures != 1 || suite.Skipped != 2 || suite.Errors != 0 {
		t.Errorf("%d failures, %d skipped, %d errors; want D; I and the known R; none", suite.Failures, suite.Skipped, suite.Errors)
	}
	if n := strings.Count(string(text["markdown"]), "\n| "); n != 5 { // with the head
		t.Errorf("%d rows: %s", n, text["markdown"])
	}
	for form, content := range text {
		if bytes.Contains(content, []byte("token-of")) {
			t.Errorf("%s contains a token", form)
		}
	}
}

// Whose token a request has can be seen, and the token cannot.
func TestShown_NamesThePrincipal(t *testing.T) {
	t.Parallel()
	target := probe.Target{Secrets: map[string]string{"key": "b", "key-2": "a", "of": "c"}}
	got := target.Shown(target.Shown("key-2 key", 100), 100)
	if want := "<token of a> <token of b>"; got != want || cell(got) != "&lt;token of a> &lt;token of b>" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSafe_EscapesControlCharactersAndHidesPasswords(t *testing.T) {
	t.Parallel()
	got, want := probe.Safe("a\x00\x1b[1m\xff\u00e9\n\t\uffff postgres://me:p@db/x?a=b@c"), `a\x00\x1b[1m\xff`+"\u00e9\n\t"+`\uffff postgres://<user>@db/x?a=b@c`
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Lesson 7: a divergence that the owner accepts breaks no run, and one that is gone does.
func TestReport_KnownDivergencesAreStrict(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[probe.Verdict][2]int{ // without known, with it
		probe.Pass: {kept, broken}, probe.Fail: {broken, kept}, probe.Differs: {kept, kept},
		probe.NotApplicable: {kept, kept}, probe.CannotTell: {kept, kept}, probe.Unreachable: {unusable, unusable},
	} {
		for i, known := range [][]string{nil, {"A"}} {
			r := newReport(&file{Known: known}, &probe.Target{})
			r.add(probe.Result{Probe: probe.Probes[0], Verdict: verdict})
			if got := r.status(); got != want[i] {
				t.Errorf("%s, known %v: status %d, want %d", verdict, known, got, want[i])
			}
		}
	}
}

// Every rule of a profile has a source and is asked by a probe, and explain shows it.
func TestProfiles_HaveASourceForEachRule(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, p := range probe.Probes {
		for _, rule := range p.Rules {
			asked[rule] = true
		}
	}
	for name, profile := range profiles {
		status, out := command19(t, "explain", "--profile", name)
		for rule, r := range profile.Rules {
			if !asked[rule] || r.Says == "" || r.Where == "" || len(r.Want) == 0 {
				t.Errorf("%s: %s: asked = %v, %+v", name, rule, asked[rule], r)
			}
			if status != kept || !strings.Contains(out, r.Says) {
				t.Errorf("explain does not show %s: %s", name, r.Says)
			}
		}
	}
	if len(profiles) != 7 || len(slices.Compact(slices.Sorted(maps.Keys(profiles)))) != 7 {
		t.Errorf("%d profiles", len(profiles))
	}
}
