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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
)

const liftGuide = "../../docs/lift.md"

// block is a block of code of the guide. Its info says what it is: "sh" is executed, "sh
// background" runs until the end, "go main.go" is a file, and "text" is the output of the
// command before it.
type block struct{ info, text string }

func liftBlocks(t *testing.T) []block {
	t.Helper()
	fenced := regexp.MustCompile("(?s)(?:^|\n)```([^\n]+)\n(.*?\n)```\n")
	var blocks []block
	for _, match := range fenced.FindAllStringSubmatch(string(mustRead(t, liftGuide)), -1) {
		blocks = append(blocks, block{match[1], match[2]})
	}
	return blocks
}

// TestLift_EveryStepWorks does what the guide tells a reader to do, in an empty folder and an
// empty database.
func TestLift_EveryStepWorks(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	output, executed := "", 0
	for _, b := range liftBlocks(t) {
		b.text = strings.ReplaceAll(b.text, "127.0.0.1:8082", w.address)
		kind, name, _ := strings.Cut(b.info, " ")
		switch {
		case kind == "go":
			mustWrite(t, filepath.Join(w.dir, name), []byte(b.text))
		case b.info == "sh":
			output = w.run(t, b.text)
			executed++
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
	if executed < 8 {
		t.Errorf("the guide has %d blocks of commands only", executed)
	}
	w.wantCounts(t)
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
	root := t.TempDir()
	return &walk{
		root: root, dir: root, address: fmt.Sprintf("127.0.0.1:%d", testport.Free(t)),
		env: append(os.Environ(), "SOURCE="+repository, "DATABASE_URL="+emptyDatabase(t)),
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

// wantCounts checks the table of the guide: how many files and lines a reader copies and
// writes.
func (w *walk) wantCounts(t *testing.T) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\| ([a-z ,]+) \| (\d+) \| (\d+) \|`)
	rows := row.FindAllStringSubmatch(string(mustRead(t, liftGuide)), -1)
	if len(rows) != len(liftFiles) {
		t.Fatalf("the table of the guide has %d rows, want %d", len(rows), len(liftFiles))
	}
	for _, r := range rows {
		files, lines := w.count(t, liftFiles[r[1]])
		if strconv.Itoa(files) != r[2] || strconv.Itoa(lines) != r[3] {
			t.Errorf("%s: %d files, %d lines; the guide says %s and %s", r[1], files, lines, r[2], r[3])
		}
	}
}

// liftFiles are the rows of the table, and which files each counts.
var liftFiles = map[string]func(path string) bool{
	"copied, and never changed": func(path string) bool {
		return filepath.Dir(path) == "internal/idempotency" && !isTest(path)
	},
	"copied, and yours from then on": func(path string) bool {
		return filepath.Dir(path) == "." && !isTest(path) && filepath.Base(path) != "main.go"
	},
	"written by you":        func(path string) bool { return path == "main.go" },
	"tests, copied":         func(path string) bool { return isTest(path) && path != "route_test.go" },
	"tests, written by you": func(path string) bool { return path == "route_test.go" },
}

func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.Dir(path), "test")
}

// count returns the number of files in the reader's module, and of their lines, rounded up to
// tens so that not every edit changes the guide.
func (w *walk) count(t *testing.T, counts func(path string) bool) (files, lines int) {
	t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, entry os.DirEntry, err error) error {
		relative, relErr := filepath.Rel(w.dir, path)
		if err != nil || relErr != nil || entry.IsDir() || strings.HasPrefix(relative, "go.") || !counts(relative) {
			return err
		}
		files++
		lines += bytes.Count(mustRead(t, path), []byte("\n"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, (lines + 9) / 10 * 10
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
