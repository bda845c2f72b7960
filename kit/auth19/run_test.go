package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
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
		"no probe is called Z":  {"run", path, "Z"},
		"--level L9":            {"run", path, "--level", "L9"},
		"flag provided but not": {"run", path, "--fast"},
		"connection refused; start it, or correct the member server": {"run", write(t, small)},
		"refused 401 as a: ":                                     {"run", write(t, strings.Replace(string(text), "a: {Authorization", "a: {X-Name", 1))},
		"expected a number or a list":                            {"run", write(t, strings.Replace(string(text), "pointer: /data", "pointer: ''", 1))},
		"was refused 404":                                        {"run", broke},
		"no profile is called xyz":                               {"explain", "--profile", "xyz"},
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
	path := smallAt(t, c.processes[0].url, "principals: {a: {Authorization: Bearer token-of-a}}")
	status, out := command19(t, "run", path, "A", "D", "C", "H", "I", "T", "F")
	if status != kept || !strings.Contains(out, "7 probes: 1 pass, 6 not applicable") || !strings.Contains(out, "one process only") {
		t.Errorf("status %d: %s", status, out)
	}
}

// A part of a question that was not asked is named.
func TestRun_NamesThePartThatIsNotAsked(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "")
	path := smallAt(t, c.processes[0].url, fmt.Sprintf(`
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
