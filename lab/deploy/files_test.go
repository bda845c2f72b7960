//go:build deploy

package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/config"
)

// The tools that read the manifests as a cluster would, and need none.
const (
	kustomize       = "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1"
	kubectlValidate = "sigs.k8s.io/kubectl-validate@v0.0.4"
)

// root is where the repository begins.
const root = "../.."

// runTool runs a program of a Go module, which the first run builds. It returns the output,
// and an error that has what the program says.
func runTool(t *testing.T, module string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", module}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s%s", module, err, &stdout, &stderr)
	}
	return stdout.Bytes(), nil
}

// mustReadFile returns the text of a file of the repository.
func mustReadFile(t *testing.T, name string) string {
	t.Helper()
	return string(mustRead(t, filepath.Join(root, name)))
}

// mustReadEnv returns the variables of a file with lines NAME=value.
func mustReadEnv(t *testing.T, name string) []string {
	t.Helper()
	return regexp.MustCompile(`(?m)^[A-Z_]+=.*$`).FindAllString(mustReadFile(t, name), -1)
}

// imageEnviron returns the variables that the image sets.
func imageEnviron(t *testing.T) []string {
	t.Helper()
	var environ []string
	for _, match := range regexp.MustCompile(`(?m)^ENV (\S+=\S+)$`).FindAllStringSubmatch(mustReadFile(t, "deploy/Containerfile"), -1) {
		environ = append(environ, match[1])
	}
	return environ
}

// drain returns how long a process takes to stop, at most: it reports "not ready", and waits
// for what it has accepted.
func drain(t *testing.T) time.Duration {
	t.Helper()
	field, _ := reflect.TypeFor[config.Config]().FieldByName("DrainDelay")
	delay, err := time.ParseDuration(field.Tag.Get("envDefault"))
	if err != nil {
		t.Fatal(err)
	}
	const file = "cmd/orders/app/serve.go"
	match := regexp.MustCompile(`(?m)^const drainTimeout = (\d+) \* time\.Second$`).FindStringSubmatch(mustReadFile(t, file))
	if match == nil {
		t.Fatalf("%s has no constant drainTimeout in seconds", file)
	}
	timeout, err := time.ParseDuration(match[1] + "s")
	if err != nil {
		t.Fatal(err)
	}
	return delay + timeout
}

// replaceOnce returns the text with old, which must occur once, replaced.
func replaceOnce(t *testing.T, text, old, replacement string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q occurs %d times, want once", old, n)
	}
	return strings.Replace(text, old, replacement, 1)
}
