package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	testwait "example.com/orders/internal/test/wait"
)

// waitingGo prints what go does, and waits for a line before each end.
const waitingGo = `case $1 in
list) echo 'go: downloading example.com/lib v1.0.0' >&2; read -r line; echo lib; echo program ;;
build) echo lib >&2; read -r line; echo '# program' >&2; echo 'main.go:1:1: expected package' >&2; exit 3 ;;
esac`

func TestBuild_SaysHowFarItIsAndWhyItFails(t *testing.T) {
	programs := t.TempDir()
	for name, script := range map[string]string{"go": waitingGo, "sleep": "exec /bin/sleep 0.01"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Patience)
	defer cancel()
	build := exec.CommandContext(ctx, "../../.ci/build", "program", ".")
	build.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	goOn, err := build.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := build.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := build.Start(); err != nil {
		t.Fatal(err)
	}

	want := []string{"downloaded 1 modules", "compiled 1 of 2 packages", "# program", "main.go:1:1: expected package"}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if len(want) == 0 || lines.Text() != want[0] {
			continue
		}
		want = want[1:]
		_, _ = io.WriteString(goOn, "\n") // fails when go has ended
	}
	err = build.Wait()

	if len(want) > 0 {
		t.Errorf("these lines are missing, or in another order: %q", want)
	}
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("got %v, want the status of go", err)
	}
}
