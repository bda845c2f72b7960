//go:build node

package tsclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clone copies the files that the client is built from. Nothing is built or installed there.
func clone(t *testing.T, folder string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(folder, "src"), os.DirFS(Built+"/src")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		content, err := os.ReadFile(filepath.Join(Built, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

func TestPackage_IsInstalledAsItsREADMESays(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(Built + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shellBlock.FindSubmatch(readme)
	if commands == nil {
		t.Fatal("the README has no commands")
	}
	folder := t.TempDir()
	clone(t, filepath.Join(folder, "orders", "clients", "ts"))
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", string(commands[1]))
	shell.Dir = folder
	shell.Env = append(os.Environ(), "npm_config_prefer_offline=true")
	shell.Stderr = t.Output()

	printed, err := shell.Output()

	if err != nil || !strings.HasSuffix(string(printed), "\nOrdersClient\n") {
		t.Errorf("err = %v, the commands printed:\n%s", err, printed)
	}
}
