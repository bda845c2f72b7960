package main

import (
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// makeCopy copies this service and returns the folder of the copy. The folder is the same
// in each run, because the cache of the compiler goes by it.
func makeCopy(t *testing.T, module string) string {
	t.Helper()
	if _, err := readTree(root); err != nil {
		t.Skip(err)
	}
	own, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("new-%08x", crc32.ChecksumIEEE([]byte(own))))
	remove := func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	remove()
	t.Cleanup(remove)
	if _, err := copyService(root, module, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runIn runs a command in a copy, without a network: it needs the modules of this service
// and no others.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, out)
	}
}

var (
	// buildCopies compiles the copy with its tests, which takes more than a minute.
	buildCopies = flag.Bool("build", false, "compile the copy")
	// full runs a telling part of the copy's tests.
	full = flag.Bool("full", false, "run tests of the copy")
)

// tellingPart are tests of the whole service: the guard over HTTP, its store, its settings.
var tellingPart = []string{
	"./cmd/...", "./internal/adapters/in/http/...", "./internal/config", "./internal/core/...", "./internal/idempotency/...",
	"./internal/test/architecture", "./internal/test/docs", "./internal/test/e2e/guard",
}

func TestCopies_HaveTheirNames(t *testing.T) {
	dir := makeCopy(t, "acme.example/gift-cards")
	wantRenamed(t, dir)
	// Finds every import, and compiles if asked.
	runIn(t, dir, "go", "list", "-deps", "-test", fmt.Sprintf("-export=%t", *buildCopies), "./...")
}

func TestCopies_PassTheirTests(t *testing.T) {
	if !*full {
		t.Skip("make -C lab copies runs tests of the copy")
	}
	dir := makeCopy(t, "acme.example/gift-cards")
	runIn(t, dir, "go", "build", "-o", "bin/testcluster", "./internal/test/pg/cluster")
	runIn(t, dir, "bin/testcluster", append([]string{"go", "test", "-parallel=4"}, tellingPart...)...)
}

// wantRenamed fails if a file of a copy still has the module, a setting or a command of
// this service.
func wantRenamed(t *testing.T, dir string) {
	t.Helper()
	own, err := ownName(root)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, old := range []string{own.module, "cmd/" + own.kebab, own.kebab + "-dev", "\"" + own.upper + "_", "`" + own.upper + "_"} {
			if bytes.Contains(text, []byte(old)) || strings.Contains(path, old) {
				t.Errorf("%s contains %s", path, old)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNew_FolderMustBeNewOrEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := checkEmpty(dir); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := copyService(root, "acme.example/gift-cards", dir)
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("err = %v, want one that says that the folder is not empty", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %d entries, want the one that was there", len(entries))
	}
}

func TestNew_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-module", "acme.example/gift-cards"}, {"-dir", t.TempDir()}} {
		if err := run(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "usage: make new MODULE=") {
			t.Errorf("%q: err = %v, want the usage", args, err)
		}
	}
}
