package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"example.com/orders/internal/dev/issuer"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

var (
	// build compiles the service of the copy, which takes more than half a minute.
	build = flag.Bool("build", false, "run the commands of a copy, and what generates and checks its files")
	// full compiles everything in the copy.
	full = flag.Bool("full", false, "run the checks and the tests of a copy")
)

// argumentsOf maps the commands of the service to arguments with which each ends well. serve
// runs meanwhile.
var argumentsOf = map[string][]string{
	"migrate": {"version"}, "jobs": {"list"}, "dead-letters": {"list"}, "webhooks": {"list"}, "reconcile": nil, "config": nil, "health": nil, "version": nil,
}

// installation is a copy that is installed: a database, a broker and its settings.
type installation struct {
	binary  string
	environ []string
	admin   string // address
}

func install(t *testing.T, dir string) installation {
	t.Helper()
	to, err := parseName(copied)
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.NewCluster(t, nil)
	if err := server.EnsureDatabase(t.Context(), to.snake); err != nil {
		t.Fatal(err)
	}
	tokens, err := issuer.New(issuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(tokens.Handler())
	t.Cleanup(keys.Close)
	i := installation{binary: filepath.Join(dir, "bin", to.kebab), admin: fmt.Sprint("127.0.0.1:", testport.Free(t))}
	for setting, value := range map[string]string{
		"DATABASE_URL": server.URL(to.snake), "NATS_URL": natstest.New(t).URL(), "ADDR": "127.0.0.1:0", "ADMIN_ADDR": i.admin,
		"JWT_ISSUER": issuer.Name, "JWT_AUDIENCE": to.kebab, "JWKS_URL": keys.URL + issuer.JWKSPath,
	} {
		i.environ = append(i.environ, to.upper+"_"+setting+"="+value)
	}
	runIn(t, dir, "go", "build", "-o", i.binary, "./cmd/"+to.kebab)
	return i
}

// command returns a command of the copy.
func (i installation) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.binary, args...)
	cmd.Env = i.environ
	return cmd
}

// run runs a command, and fails if it fails or prints a word of this service.
func (i installation) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.command(t, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", args, err, out)
	}
	for _, line := range wordsLeft(string(out)) {
		t.Errorf("%s prints %s", args, line)
	}
	return string(out)
}

// TestCopy_RunsEveryCommand runs those that the help of the copy lists.
func TestCopy_RunsEveryCommand(t *testing.T) {
	if !*build {
		t.Skip("make -C lab copies runs the commands of a copy")
	}
	i := install(t, makeCopy(t))
	i.run(t, "migrate", "up")
	serve := i.command(t, "serve")
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() }) // the test is over
	testwait.Until(t, "the copy is ready", func() bool { return i.command(t, "health").Run() == nil })
	listed := regexp.MustCompile(`(?m)^  [a-z-]+ ([a-z-]+)`).FindAllStringSubmatch(i.run(t, "help"), -1)
	if len(listed) <= len(argumentsOf) {
		t.Errorf("help lists %d commands, want more than %d", len(listed), len(argumentsOf))
	}
	for _, command := range listed {
		name := command[1]
		i.run(t, name, "--help")
		if arguments, known := argumentsOf[name]; known {
			i.run(t, append([]string{name}, arguments...)...)
		} else if name != "serve" {
			t.Errorf("%s: this test knows no arguments for it", name)
		}
	}
	for _, line := range wordsLeft(get(t, "http://"+i.admin+"/metrics")) {
		t.Errorf("a metric is %s", line)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(body)
}

// TestCopy_GeneratesWhatItHas fails if a generator of the copy changes a file, or if its
// modules, its format or its contract are not in order.
func TestCopy_GeneratesWhatItHas(t *testing.T) {
	if !*build {
		t.Skip("make -C lab copies generates the files of a copy")
	}
	dir := makeCopy(t)
	runIn(t, dir, "make", "generate")
	runIn(t, dir, "git", "diff", "--exit-code")
	runIn(t, dir, "go", "mod", "tidy", "-diff")
	runIn(t, dir, "go", "tool", "-modfile=tools.mod", "golangci-lint", "fmt", "--diff")
	runIn(t, dir, "make", "compatible")
}

// tellingPart are tests of the whole service: its commands, the guard over HTTP, its store,
// its settings, its documents.
var tellingPart = []string{
	"./cmd/...", "./internal/adapters/in/http/...", "./internal/config", "./internal/core/...", copied + "/kit/guard/...",
	"./internal/test/architecture", "./internal/test/docs", "./internal/test/e2e/guard",
}

func TestCopy_PassesItsChecks(t *testing.T) {
	if !*full {
		t.Skip("make -C lab copies runs the checks and the tests of a copy")
	}
	dir := makeCopy(t)
	runIn(t, dir, "make", "check")
	runIn(t, dir, "go", "build", "-o", "bin/testcluster", "./internal/test/pg/cluster")
	runIn(t, dir, "bin/testcluster", append([]string{"go", "test", "-parallel=4"}, tellingPart...)...)
}
