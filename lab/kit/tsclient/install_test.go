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

// shellBlock matches commands, for an empty folder beside or around a clone.
var shellBlock = regexp.MustCompile("(?s)```(?:ba)?sh\n(.*?)```")

func TestPackage_IsInstalledAsThePagesSay(t *testing.T) {
	t.Parallel()
	for page, heading := range map[string]string{Built + "/README.md": "# ", "../../../docs/use.md": "\n## TypeScript\n"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(text), heading)
		commands := shellBlock.FindStringSubmatch(section)
		if commands == nil {
			t.Fatal("no commands in ", page)
		}
		folder := t.TempDir()
		clone(t, filepath.Join(folder, "orders", "kit", "client-ts"))
		const use = "\nnode --input-type=module -e \"import { OrdersClient } from '@example/orders'; console.log(OrdersClient.name)\"\n"
		shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands[1]+use)
		shell.Dir = folder
		shell.Env = append(os.Environ(), "npm_config_prefer_offline=true")
		shell.Stderr = t.Output()
		printed, err := shell.Output()
		if err != nil || !strings.HasSuffix(string(printed), "\nOrdersClient\n") {
			t.Errorf("%s: err = %v, the commands printed:\n%s", page, err, printed)
		}
	}
}
