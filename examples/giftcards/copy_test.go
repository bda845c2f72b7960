package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// copied is what docs/auth-19.md, "Copying it", names: everything that another service
// needs for a guarded route, besides its own business.
var copied = []string{
	"../../internal/idempotency/guard.go",
	"../../internal/idempotency/key.go",
	"../../internal/idempotency/fingerprint.go",
	"../../internal/idempotency/store.go",
	"guard.go",
	"store.go",
	"cleanup.go",
	"idempotency_record.sql",
}

// What the documents promise to somebody who copies.
const maxFiles, maxLines = 8, 800

// TestCopying_GivesAnEmptyModuleAGuardedRoute does what the documents tell a reader to do:
// it copies exactly the named files into an empty module, adds this example's main.go as
// the business, builds it there, and counts.
func TestCopying_GivesAnEmptyModuleAGuardedRoute(t *testing.T) {
	t.Parallel()
	const theirs = "example.com/theirs"
	dir := t.TempDir()
	lines := 0
	for _, name := range append(copied, "main.go") {
		text := mustRead(t, name)
		if name != "main.go" {
			lines += bytes.Count(text, []byte("\n"))
		}
		text = bytes.ReplaceAll(text, []byte(`"example.com/orders/internal/`), []byte(`"`+theirs+`/`))
		target, ofPackage := strings.CutPrefix(name, "../../internal/")
		if !ofPackage {
			target = filepath.Base(name)
		}
		mustWrite(t, filepath.Join(dir, target), text)
	}
	if len(copied) > maxFiles || lines > maxLines {
		t.Errorf("%d files, %d lines; the documents promise %d and %d at most", len(copied), lines, maxFiles, maxLines)
	}
	t.Logf("%d files, %d lines", len(copied), lines)

	// The versions of the libraries are ours, so that nothing is fetched.
	goMod := mustRead(t, "../../go.mod")
	mustWrite(t, filepath.Join(dir, "go.mod"), regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(goMod, []byte("module "+theirs)))
	mustWrite(t, filepath.Join(dir, "go.sum"), mustRead(t, "../../go.sum"))
	for _, args := range [][]string{{"build", "-mod=mod", "-o", os.DevNull, "."}, {"vet", "-mod=mod", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestCopying_IsDocumented keeps the list of files in the documents true.
func TestCopying_IsDocumented(t *testing.T) {
	t.Parallel()
	guide := string(mustRead(t, "../../docs/auth-19.md"))
	for _, name := range copied[:6] {
		path := strings.TrimPrefix(name, "../../")
		if path == name {
			path = "examples/giftcards/" + name
		}
		if !strings.Contains(guide, path) {
			t.Errorf("docs/auth-19.md does not name %s", path)
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
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
