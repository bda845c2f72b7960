//go:build deploy

package deploy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// image is what was built: its configuration, and its files in a folder.
type image struct {
	User         string
	Env          []string
	Entrypoint   []string
	Cmd          []string
	Labels       map[string]string
	ExposedPorts map[string]struct{}
	Healthcheck  struct{ Test []string }

	files string
}

// storage is where buildah keeps its images: in a folder of the test.
type storage struct{ dir string }

// run runs buildah and returns the last line of its output.
func (s storage) run(t *testing.T, args ...string) string {
	t.Helper()
	global := []string{"--root", s.dir + "/root", "--runroot", s.dir + "/run", "--storage-driver=vfs"}
	cmd := exec.CommandContext(t.Context(), "buildah", append(global, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("buildah %s: %v: %s%s", args, err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String())
}

// build builds deploy/Containerfile. No registry is needed: the image of Go is a stand-in
// that has the Go of this machine, a shell, and the CAs.
func build(t *testing.T, authorities []byte) image {
	t.Helper()
	s := storage{t.TempDir()}
	s.makeGoImage(t, authorities)
	s.run(t, "build", "--isolation=chroot", "--pull-never", "--format=docker", "--quiet",
		"--volume="+goEnv(t, "GOROOT")+":/usr/local/go:ro",
		"--volume="+goEnv(t, "GOMODCACHE")+":/go/pkg/mod", "--volume="+goEnv(t, "GOCACHE")+":/go/cache",
		"--file="+root+"/deploy/Containerfile", "--tag=orders", root)
	var built struct {
		Docker struct{ Config image }
	}
	if err := json.Unmarshal([]byte(s.run(t, "inspect", "--type=image", "orders")), &built); err != nil {
		t.Fatal(err)
	}
	built.Docker.Config.files = s.run(t, "mount", s.run(t, "from", "orders"))
	return built.Docker.Config
}

// makeGoImage makes an image under the name that deploy/Containerfile begins with.
func (s storage) makeGoImage(t *testing.T, authorities []byte) {
	t.Helper()
	files := filepath.Join(t.TempDir(), "go")
	writeFile(t, files+"/etc/ssl/certs/ca-certificates.crt", authorities)
	for _, path := range append(libraries(t, "/bin/sh"), "/bin/sh") {
		writeFile(t, filepath.Join(files, path), mustRead(t, path))
	}
	if err := os.Mkdir(filepath.Join(files, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	container := s.run(t, "from", "scratch")
	s.run(t, "copy", "--quiet", container, files, "/")
	s.run(t, "config", "--env=PATH=/usr/local/go/bin:/bin", "--env=GOPATH=/go", "--env=GOCACHE=/go/cache",
		"--env=GOPROXY=off", "--env=GOTOOLCHAIN=local", container)
	name := regexp.MustCompile(`(?m)^ARG GO_IMAGE=(\S+)$`).FindStringSubmatch(mustReadFile(t, "deploy/Containerfile"))
	if name == nil {
		t.Fatal("deploy/Containerfile names no image of Go")
	}
	s.run(t, "commit", "--quiet", "--rm", container, name[1])
}

// libraries returns the shared libraries that a program needs.
func libraries(t *testing.T, program string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ldd", program).Output()
	if err != nil {
		t.Fatalf("ldd %s: %v", program, err)
	}
	return regexp.MustCompile(`/\S+`).FindAllString(string(out), -1)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// list returns the regular files of the image, and how large they are together.
func (i image) list(t *testing.T) (names []string, size int64) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(i.files), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		names = append(names, "/"+name)
		size += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, size
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeFile writes a file that everybody may run, and the folders above it.
func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}
