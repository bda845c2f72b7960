package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// makeCopy copies this service and returns the folder of the copy.
func makeCopy(t *testing.T, module string) string {
	t.Helper()
	if _, err := readTree(root); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := copyService(root, module, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// goIn runs the go command in a copy, without a network: it needs the modules of this
// service and no others.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestNew_CopyBuildsUnderItsName(t *testing.T) {
	t.Parallel()
	dir := makeCopy(t, "acme.example/gift-cards")
	wantRenamed(t, dir)
	goIn(t, dir, "vet", "./...")
	goIn(t, dir, "build", "./cmd/...")
	goIn(t, dir, "test", "./internal/config", "./internal/test/architecture", "./internal/test/docs")
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
	err := copyService(root, "acme.example/gift-cards", dir)
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
