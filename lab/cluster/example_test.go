package cluster

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the rendered example")

// example is the HAProxy template as the lab's cluster renders it.
var example = filepath.Join("..", "..", "deploy", "cluster", "haproxy.cfg.example")

func TestExample_IsTheRenderedTemplate(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(newCluster(t, Config{}).Node("haproxy").configPath())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(example, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(example); err != nil || string(got) != string(want) {
		t.Errorf("%s is out of date, %v; run go test ./cluster -run Example -update in lab", example, err)
	}
}

func TestExample_IsAcceptedByHAProxy(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program, err = exec.LookPath(sbin + "haproxy")
	}
	if err != nil {
		t.Skip("NOT CHECKED: haproxy on its example; lab/need cluster installs it")
	}

	if output, err := exec.CommandContext(t.Context(), program, "-c", "-f", example).CombinedOutput(); err != nil {
		t.Errorf("haproxy -c: %v: %s", err, output)
	}
}
