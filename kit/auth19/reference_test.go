package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/auth19/reference"
	"example.com/orders/kit/guard/routetest/probe"
)

// The reference server is a process, because probes kill it: this test program, started again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REFERENCE_DIR"); dir != "" {
		serveReference(dir)
	}
	os.Exit(m.Run())
}

func serveReference(dir string) {
	listener, err := net.Listen("tcp", os.Getenv("REFERENCE_ADDR"))
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() { // a test that is killed leaves no process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(reference.Serve(listener, reference.Config{Dir: dir, Profile: os.Getenv("REFERENCE_PROFILE"), Fault: os.Getenv("REFERENCE_FAULT"), Shape: os.Getenv("REFERENCE_SHAPE")}))
}

// process is a running reference server.
type process struct {
	cmd *exec.Cmd
	url string
}

// cluster is two processes on one folder.
type cluster struct {
	dir       string
	config    reference.Config
	processes [2]process
}

func newCluster(t *testing.T, profile, fault string) *cluster {
	t.Helper()
	return openCluster(t, reference.Config{Profile: profile, Fault: fault})
}

func openCluster(t *testing.T, config reference.Config) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir(), config: config}
	for i := range c.processes {
		if err := c.start(i, "127.0.0.1:"+freePort(t)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, p := range c.processes {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return c
}

func (c *cluster) start(i int, addr string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REFERENCE_DIR="+c.dir, "REFERENCE_ADDR="+addr, "REFERENCE_PROFILE="+c.config.Profile, "REFERENCE_FAULT="+c.config.Fault,
		"REFERENCE_SHAPE="+c.config.Shape)
	cmd.Stderr = os.Stderr
	_, err1 := cmd.StdinPipe() // its end tells the process to stop
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	c.processes[i] = process{cmd, strings.TrimSpace(line)}
	return err
}

// kill ends the first process without a goodbye.
func (c *cluster) kill(context.Context) error {
	p := c.processes[0]
	return errors.Join(p.cmd.Process.Kill(), ignoreExit(p.cmd.Wait()))
}

func ignoreExit(err error) error {
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}

func (c *cluster) restart(context.Context) error {
	return c.start(0, strings.TrimPrefix(c.processes[0].url, "http://"))
}

// turn returns a hook that switches something of the server on or off.
func (c *cluster) turn(on bool, names ...string) func(context.Context) error {
	return func(context.Context) error {
		var failed error
		for _, name := range names {
			path := filepath.Join(c.dir, name)
			if on {
				failed = errors.Join(failed, os.WriteFile(path, nil, 0o600))
			} else if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		return failed
	}
}

func (c *cluster) hold(name string) func(context.Context) (probe.Trap, error) {
	return func(ctx context.Context) (probe.Trap, error) {
		await := func(ctx context.Context) error {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(c.dir, "held")); err == nil {
					return nil
				}
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		}
		return probe.Trap{Await: await, Undo: c.turn(false, name, "held")}, c.turn(true, name)(ctx)
	}
}

func (c *cluster) fail(name string) func(context.Context) (probe.Trap, error) {
	return func(ctx context.Context) (probe.Trap, error) {
		return probe.Trap{Undo: c.turn(false, name)}, c.turn(true, name)(ctx)
	}
}

// target describes the reference server to the probes.
func (c *cluster) target(seed uint64) *probe.Target {
	profile := profiles[c.config.Profile]
	return &probe.Target{
		Servers: []string{c.processes[0].url, c.processes[1].url}, Profile: profile, Header: profile.Header, Seed: seed,
		Secrets: map[string]string{"token-of-a": "a", "token-of-b": "b"}, Prepare: c.prepare, Keys: 3, Crowd: 20,
		Timeout: 30 * time.Second, Patience: 2 * time.Second, Settle: 250 * time.Millisecond,
	}
}

func (c *cluster) prepare(_ context.Context, key string) (*probe.Operation, error) {
	post := func(path, body string) probe.Request { return probe.Request{Method: "POST", Path: path, Body: body} }
	const other = `{"amount": 200, "note": "other"}`
	body := fmt.Sprintf(`{"amount": 100, "note": "canary-%s"}`, key)
	return &probe.Operation{
		A: http.Header{"Authorization": {"Bearer token-of-a"}}, B: http.Header{"Authorization": {"Bearer token-of-b"}},
		Do: post("/charges", body), Others: []probe.Request{post("/charges", other)}, Routes: []probe.Request{post("/refunds", body)},
		Empty: new(post("/quiet", body)), Refused: new(post("/charges", `{"amount": 2000}`)), Remedy: c.raise, Effects: c.effects,
		HoldBefore: c.hold("hold-before"), HoldAfter: c.hold("hold-after"), FailBefore: c.fail("fail-before"), FailAfter: c.fail("fail-after"),
		Kill: c.kill, Start: c.restart, StoreDown: c.turn(true, "store-down"), StoreUp: c.turn(false, "store-down"),
		Expire: func(context.Context) error { reference.Expire(c.dir); return nil }, Canary: "canary-" + key,
	}, nil
}

func (c *cluster) raise(ctx context.Context) error {
	_, err := c.ask(ctx, "POST", "/limit", "{}")
	return err
}

func (c *cluster) effects(ctx context.Context) (int, error) {
	body, err := c.ask(ctx, "GET", "/charges", "")
	if err != nil {
		return 0, err
	}
	data, err := pointed(body, "/data")
	if err != nil {
		return 0, err
	}
	return number(data)
}

func (c *cluster) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	f := &file{Servers: []string{c.processes[1].url}, Timeout: time.Minute}
	header := http.Header{"Authorization": {"Bearer token-of-a"}, profiles[c.config.Profile].Header: {fmt.Sprint(newSeed())}}
	return f.ask(ctx, probe.Request{Method: method, Path: path, Body: body, Header: header}, "")
}

// ask asks all questions, and returns the verdicts that are no pass.
func ask(t *testing.T, target *probe.Target) map[string]probe.Verdict {
	t.Helper()
	if err := target.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := map[string]probe.Verdict{}
	for _, p := range probe.Probes {
		result := p.Ask(t.Context(), target)
		if result.Verdict == probe.Pass {
			continue
		}
		found[p.Name] = result.Verdict
		for _, f := range result.Findings {
			if f.Verdict != probe.Pass {
				t.Logf("%s %s: %s: %s", p.Name, result.Verdict, f.Rule, f.Got)
			}
		}
		if result.Note != "" {
			t.Logf("%s %s: %s", p.Name, result.Verdict, result.Note)
		}
	}
	return found
}

// Only a server that is known to be good can show that a probe blames nobody.
func TestProbes_PassTheReferenceInEveryProfile(t *testing.T) {
	t.Parallel()
	for _, profile := range profileNames() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			if found := ask(t, newCluster(t, profile, "").target(newSeed())); len(found) > 0 {
				t.Errorf("not passed: %v", found)
			}
		})
	}
}

// faults are the ways to break the reference server, and the verdicts that must be no pass.
var faults = map[string]string{
	"claims no key":                       "fail B C E H",
	"claims keys in its process":          "fail C H",
	"fails duplicates":                    "fail B C E H",
	"says nothing of coming back":         "differs B",
	"replays to another body":             "fail D E R T",
	"runs another body":                   "fail D E R T",
	"refuses with 422":                    "differs D E G R",
	"ignores the route":                   "fail G",
	"compares bytes":                      "differs N",
	"compares paths as they are sent":     "fail N",
	"truncates keys":                      "fail N",
	"forgets empty responses":             "fail L",
	"marks no replay":                     "differs A",
	"replays without Location":            "fail A",
	"needs no key":                        "fail P",
	"takes any key":                       "fail P",
	"keeps the key of an unreadable body": "fail P",
	"keeps failures":                      "differs K",
	"locks the key of a failure":          "fail K",
	"forgets refusals":                    "differs R",
	"saves after the response":            "fail B C E H I K O",
	"saves in a second transaction":       "fail I K",
	"stops when the client hangs up":      "differs H",
	"forgets when the client hangs up":    "fail H",
	"leaves locks behind":                 "fail I J",
	"runs without the store":              "fail M",
	"forgets at expiry":                   "fail T",
	"shares keys among principals":        "fail F",
	"replays to strangers":                "fail S",
	"shows the first response":            "fail D E G R",
	"shows the token":                     "fail S",
}

// Each fault turns exactly those probes red that it should.
func TestProbes_FindEachFault(t *testing.T) {
	t.Parallel()
	for fault, expected := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			want := map[string]probe.Verdict{}
			words := strings.Fields(expected)
			for _, name := range words[1:] {
				want[name] = probe.Verdict(words[0])
			}
			if found := ask(t, newCluster(t, "auth-19", fault).target(newSeed())); !maps.Equal(found, want) {
				t.Errorf("found %v, want %v", found, want)
			}
		})
	}
}
