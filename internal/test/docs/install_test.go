package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shop is a program that uses the client.
const shop = `package main

import (
	"fmt"

	"example.com/orders/client"
)

func main() {
	_, err := client.New(client.Config{URL: "http://127.0.0.1:8080", Token: client.StaticToken("token"), Keys: &client.MemoryStore{}})
	fmt.Println(err)
}
`

// The commands start in an empty folder beside a clone, and fetch nothing.
func TestUsePage_ProvidesTheClientForGo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "orders", "client"), os.DirFS(root+"/client")); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "main.go")
	if err := os.WriteFile(program, []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)\n## Go\n.*?```bash\n(.*?)```").FindStringSubmatch(pageAt("docs/use.md").Text)
	if commands == nil {
		t.Fatal("the page has no commands")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands[1]+"cp ../main.go . && go vet . && go run .")
	shell.Dir = folder
	shell.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
	if printed, err := shell.CombinedOutput(); err != nil || !strings.HasSuffix(string(printed), "\n<nil>\n") {
		t.Errorf("err = %v, the commands printed:\n%s", err, printed)
	}
}
