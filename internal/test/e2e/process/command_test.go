package process_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// output runs a program that must succeed, and returns what it prints.
func output(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(systemEnviron(), environ...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// errorOf runs a program that must exit with status 1, and returns its error message.
func errorOf(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(systemEnviron(), environ...), &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s: it did not exit by itself", cmd)
	}
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%s: %v, want exit status 1; it printed %s%s", cmd, err, &stdout, &stderr)
	}
	message, prefixed := strings.CutPrefix(stderr.String(), filepath.Base(binary)+": ")
	if !prefixed {
		t.Errorf("%s: the error does not begin with the name of the program: %s", cmd, &stderr)
	}
	return strings.TrimSuffix(message, "\n")
}

// systemEnviron returns the variables that any program needs, and none of ours.
func systemEnviron() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
}

func TestPrograms_RefuseUnknownCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orders, dev := e2e.BuildOrders(t), e2e.BuildOrdersDev(t)
	for _, c := range []struct {
		binary string
		args   []string
		words  []string // of the error message
	}{
		{orders, nil, []string{"no command", "orders help"}},
		{orders, []string{"fly"}, []string{`"fly"`, "orders help"}},
		{orders, []string{"migrate"}, []string{"up|down|version"}},
		{orders, []string{"migrate", "up", "down"}, []string{"up|down|version"}},
		{orders, []string{"migrate", "up"}, []string{"ORDERS_DATABASE_URL"}},
		{dev, []string{"token", "--dir", dir}, []string{"--sub", "--role"}},
		{dev, []string{"token", "--dir", dir, "--sub", e2e.Alice}, []string{"--sub", "--role"}},
		{dev, []string{"token", "--dir", dir, "--sub", e2e.Alice, "--role", "king"}, []string{`"king"`, "customer, seller, admin or system"}},
		{dev, []string{"token", "--dir", dir, "--sub", e2e.Alice, "--role", "customer,king"}, []string{`"king"`}},
		{dev, []string{"token", "--dir", dir, "--sub", e2e.Alice, "--role", "customer"}, []string{"orders-dev"}},
		{dev, []string{"token", "--dir", dir, "--sub", e2e.Alice, "--role", "customer", "more"}, []string{"--sub", "--role"}},
	} {
		t.Run(strings.Join(append([]string{filepath.Base(c.binary)}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			message := errorOf(t, c.binary, nil, c.args...)
			for _, word := range c.words {
				if !strings.Contains(message, word) {
					t.Errorf("the error does not contain %q: %s", word, message)
				}
			}
		})
	}
}

func TestPrograms_PrintHelp(t *testing.T) {
	t.Parallel()
	for binary, commands := range map[string][]string{
		e2e.BuildOrders(t):    {"orders serve", "orders migrate up|down|version"},
		e2e.BuildOrdersDev(t): {"orders-dev [--dir DIR]", "orders-dev token --sub ID --role ROLE"},
	} {
		usage := output(t, binary, nil, "help")
		for _, command := range commands {
			if !strings.Contains(usage, command) {
				t.Errorf("%s help does not list %q: %s", binary, command, usage)
			}
		}
		for _, flag := range []string{"-h", "--help"} {
			if got := output(t, binary, nil, flag); got != usage {
				t.Errorf("%s %s: %q, want %q", binary, flag, got, usage)
			}
		}
	}
}
