package guard_test

import (
	"bytes"
	"math/rand/v2"
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

	"example.com/orders/kit/guard/pgtest"
)

// block is a code block of README.md. Its info says how to use it: "sh" is executed, "sh
// background" runs until the end, "go main.go" is a file, "go" are lines of the file, "text"
// is the output of the previous command, and kit/auth19 parses "yaml".
type block struct{ info, text string }

func readmeBlocks(t *testing.T) []block {
	t.Helper()
	fenced := regexp.MustCompile("(?s)(?:^|\n)```([^\n]+)\n(.*?\n)```\n")
	var blocks []block
	for _, match := range fenced.FindAllStringSubmatch(string(mustRead(t, "README.md")), -1) {
		blocks = append(blocks, block{match[1], match[2]})
	}
	return blocks
}

// TestReadme_EveryStepWorks follows the page in an empty folder and an empty database.
func TestReadme_EveryStepWorks(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	output, executed, lines := "", 0, ""
	for _, b := range readmeBlocks(t) {
		b.text = strings.ReplaceAll(b.text, "127.0.0.1:8082", w.address)
		kind, name, _ := strings.Cut(b.info, " ")
		switch {
		case b.info == "go":
			lines = b.text
		case kind == "go":
			if !strings.Contains(strings.ReplaceAll(b.text, "\n\t", "\n"), lines) {
				t.Errorf("%s has no lines\n%s", name, lines)
			}
			mustWrite(t, filepath.Join(w.dir, name), []byte(b.text))
		case b.info == "sh":
			output = w.run(t, b.text)
			executed++
		case b.info == "sh background":
			w.start(t, b.text)
		case b.info == "text":
			if got, want := withoutDates(output), withoutDates(b.text); got != want {
				t.Errorf("the page shows\n%s\nand the command printed\n%s", want, got)
			}
		case b.info == "yaml":
		default:
			t.Errorf("a block of the page is %q", b.info)
		}
	}
	if executed != 4 {
		t.Errorf("%d blocks of commands were executed, want 4", executed)
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
	for _, tool := range []string{"curl", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: the commands of the page need %s", tool)
		}
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root, address := t.TempDir(), freeAddress(t)
	return &walk{
		root: root, dir: root, address: address,
		env: append(os.Environ(), "SOURCE="+repository, "DATABASE_URL="+pgtest.New(t).Config().ConnString()),
	}
}

// freeAddress returns a free address that other servers do not get: those that ask for any
// port get one above 32767. Whether it is free is asked by a connection: a listener would
// stay open in each program that is being started meanwhile.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(16_384+rand.IntN(16_384)))
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return address
		}
		_ = conn.Close()
	}
	t.Fatal("no port is free")
	return ""
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
	return out.String()
}

func (w *walk) command(t *testing.T, commands string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
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
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the error is that it was killed
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	for {
		conn, err := net.Dial("tcp", w.address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended, and did not serve %s:\n%s", commands, w.address, out.String())
		case <-time.After(20 * time.Millisecond):
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
