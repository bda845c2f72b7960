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
