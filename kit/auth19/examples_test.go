package main

import (
	"flag"
	"fmt"
	"html"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

const fromB probe.Verdict = "follows from B"

// exampleVerdicts are those of all three servers, which find a key, or run and save. The
// others are not applicable.
var exampleVerdicts = map[string]probe.Verdict{
	"A": probe.Pass, "D": probe.Fail, "N": probe.Pass, "P": probe.Pass, "B": probe.Fail, "E": fromB, "O": probe.Pass, "C": fromB,
	"H": fromB,
}

// Each example of README.md runs in an empty folder, and auth19 finds its faults.
func TestExamples_GetTheirVerdicts(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"server.mjs": {"node", "server.mjs"}, "server.py": {"python3", "server.py"}, "server.go": {"go", "run", "server.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip("NOT CHECKED: ", err)
			}
			dir := t.TempDir()
			copyFile(t, filepath.Join("examples", name), filepath.Join(dir, name))
			url := startExample(t, dir, command)
			text := strings.Replace(mustRead(t, "examples/auth19.yaml"), "http://127.0.0.1:8080", url, 1)
			status, out := command19(t, "run", write(t, text))
			if status != broken {
				t.Errorf("status %d: %s", status, out)
			}
			for _, p := range probe.Probes {
				want := fmt.Sprintf("%s  L%d  %-52s %s", p.Name, p.Level, p.Title, verdictOf(p.Name))
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing:\n%s", want, out)
				}
			}
		})
	}
}

func verdictOf(name string) probe.Verdict {
	if verdict, asked := exampleVerdicts[name]; asked {
		return verdict
	}
	return probe.NotApplicable
}

func startExample(t *testing.T, dir string, command []string) (url string) {
	t.Helper()
	port := freePort(t)
	addr := "127.0.0.1:" + port
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PORT="+port)
	startGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopGroup(cmd) })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return "http://" + addr
		}
	}
	t.Fatalf("%v does not listen", command)
	return ""
}

// ports counts the ports that were tried, from a random one: other test runs try some as well.
var ports atomic.Uint32

func init() { ports.Store(rand.Uint32()) }

// freePort returns a port that no other server gets, in this test run once. Servers that ask
// for any port get one above 32767. Whether a port is free is asked by a connection: a
// listener would stay open in each program that is being started meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(16_384 + int(ports.Add(1)%16_384))
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return port
		}
		_ = conn.Close()
	}
	t.Fatal("no port is free")
	return ""
}

// README.md is short and counts right, and its description is one, as is that of kit/guard.
func TestReadme_IsTrue(t *testing.T) {
	t.Parallel()
	text := mustRead(t, "README.md")
	if n := len(strings.Fields(text)); n > 900 {
		t.Errorf("%d words, at most 900", n)
	}
	for _, page := range []string{"README.md", "../guard/README.md"} {
		_, rest, _ := strings.Cut(mustRead(t, page), "```yaml\n")
		description, _, _ := strings.Cut(rest, "```")
		if _, err := parse(write(t, description)); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("in %d honest shapes, and by %d ways to break it", len(shapes), len(faults)), "Passing every probe proves nothing; failing one proves something.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(mustRead(t, from)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var update = flag.Bool("update", false, "draw the pictures of README.md anew")

// The pictures show the verdicts of the examples.
func TestPictures_ShowTheVerdicts(t *testing.T) {
	t.Parallel()
	for path, dark := range map[string]bool{"table-light.svg": false, "table-dark.svg": true} {
		drawn := picture(dark)
		if *update {
			if err := os.WriteFile(path, []byte(drawn), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if mustRead(t, path) != drawn {
			t.Errorf("%s is out of date: go test -run TestPictures -update", path)
		}
	}
}

func picture(dark bool) string {
	ink, paper := "#1f2328", "#ffffff"
	colours := map[probe.Verdict]string{probe.Pass: "#1a7f37", probe.Fail: "#cf222e", probe.NotApplicable: "#656d76", fromB: "#656d76"}
	if dark {
		ink, paper = "#e6edf3", "#0d1117"
		colours = map[probe.Verdict]string{probe.Pass: "#3fb950", probe.Fail: "#f85149", probe.NotApplicable: "#8d96a0", fromB: "#8d96a0"}
	}
	const line = 22
	var rows strings.Builder
	for i, p := range probe.Probes {
		y, verdict := 54+i*line, verdictOf(p.Name)
		fmt.Fprintf(&rows, `<text x="20" y="%d" fill="%s">%s</text><text x="48" y="%[1]d" fill="%[2]s">L%[4]d</text>`, y, ink, p.Name, p.Level)
		fmt.Fprintf(&rows, `<text x="84" y="%d" fill="%s">%s</text><text x="560" y="%[1]d" fill="%[4]s">%[5]s</text>`+"\n", y, ink, html.EscapeString(p.Title), colours[verdict], verdict)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="720" height="%d" font-family="ui-monospace,monospace" font-size="14" role="img">
<rect width="720" height="%[1]d" fill="%[2]s"/><text x="20" y="28" fill="%[3]s">$ auth19 run auth19.yaml</text>
%[4]s</svg>
`, 54+len(probe.Probes)*line, paper, ink, rows.String())
}
