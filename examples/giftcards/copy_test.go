package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
)

const copyGuide = "../../docs/copy.md"

// block is a code block of the guide. Its info says how to use it: "sh" is executed, "sh git"
// if this is a clone, "sh background" runs until the end, "go route_test.go" is a file, and "text" is the output of
// the previous command.
type block struct{ info, text string }

func guideBlocks(t *testing.T) []block {
	t.Helper()
	fenced := regexp.MustCompile("(?s)(?:^|\n)```([^\n]+)\n(.*?\n)```\n")
	var blocks []block
	for _, match := range fenced.FindAllStringSubmatch(string(mustRead(t, copyGuide)), -1) {
		blocks = append(blocks, block{match[1], match[2]})
	}
	return blocks
}

// TestCopyGuide_EveryStepWorks follows the guide in an empty folder and an empty database.
func TestCopyGuide_EveryStepWorks(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	output, executed := "", 0
	for _, b := range guideBlocks(t) {
		b.text = strings.ReplaceAll(b.text, "127.0.0.1:8081", w.address)
		kind, name, _ := strings.Cut(b.info, " ")
		switch {
		case kind == "go":
			mustWrite(t, filepath.Join(w.dir, name), []byte(b.text))
		case b.info == "sh":
			output = w.run(t, b.text)
			executed++
		case b.info == "sh git":
			if w.command(t, `git -C "$SOURCE" rev-parse HEAD`).Run() == nil {
				w.run(t, b.text)
			}
		case b.info == "sh background":
			w.start(t, b.text)
		case b.info == "text":
			if got, want := withoutDates(output), withoutDates(b.text); got != want {
				t.Errorf("the guide shows\n%s\nand the command printed\n%s", want, got)
			}
		default:
			t.Errorf("a block of the guide is %q", b.info)
		}
	}
	if executed < 6 {
		t.Errorf("the guide has %d blocks of commands only", executed)
	}
}

// withoutDates returns an output without what differs each time: dates, and spaces at the ends
// of lines.
func withoutDates(output string) string {
	output = regexp.MustCompile(`(?m)^(Date|Idempotency-Expires): .*$`).ReplaceAllString(output, "$1: …")
	return strings.TrimSpace(strings.ReplaceAll(output, "\r", ""))
}

// walk is a reader's shell.
type walk struct {
	root, dir string // dir is the current directory
	address   string // of the service
	env       []string
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	for _, tool := range []string{"curl", "psql", "perl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: the commands of the page need %s", tool)
		}
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", testport.Free(t))
	return &walk{
		root: root, dir: root, address: address,
		env: append(os.Environ(), "SOURCE="+repository, "DATABASE_URL="+emptyDatabase(t), "ADDR="+address),
	}
}

// emptyDatabase returns the URL of a database without the tables of orders.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	url := pgtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		t.Fatal(err)
	}
	return url
}

// run executes commands in the current directory, and returns what they print.
func (w *walk) run(t *testing.T, commands string) string {
	t.Helper()
	pwd := filepath.Join(w.root, "pwd")
	cmd := w.command(t, "set -e\n"+commands+"\npwd > '"+pwd+"'")
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s%s", commands, err, out.String(), errors.String())
	}
	w.dir = strings.TrimSpace(string(mustRead(t, pwd)))
	if strings.Contains(commands, "go mod init") {
		w.useOurVersions(t)
	}
	return out.String()
}

func (w *walk) command(t *testing.T, commands string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// useOurVersions adds what this module requires of pgx, so that nothing is fetched.
func (w *walk) useOurVersions(t *testing.T) {
	t.Helper()
	goMod := mustRead(t, filepath.Join(w.dir, "go.mod"))
	for _, line := range regexp.MustCompile(`(?m)^\t((?:github\.com/jackc/|golang\.org/x/).*)$`).FindAllSubmatch(mustRead(t, "../../go.mod"), -1) {
		goMod = append(append(goMod, "require "...), append(line[1], '\n')...)
	}
	mustWrite(t, filepath.Join(w.dir, "go.mod"), goMod)
	mustWrite(t, filepath.Join(w.dir, "go.sum"), mustRead(t, "../../go.sum"))
}

// start runs commands until the test ends, and waits until they serve the address.
func (w *walk) start(t *testing.T, commands string) {
	t.Helper()
	cmd := w.command(t, commands)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run starts the service as its child
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // the error is that it was killed
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", w.address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not serve %s:\n%s", commands, w.address, out.String())
		}
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func mustWrite(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
