package docs

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The night has no other machine than the workflow's: a target that it forgets never runs.
func TestWorkflow_RunsTheWholeNight(t *testing.T) {
	t.Parallel()
	night := strings.Fields(between(t, "../../../lab/Makefile", `(?m)^nightly: (.*) ##`))
	workflow := "../../../.github/workflows/ci.yml"
	runs := map[string]bool{"kit": true} // .ci/run runs it with every change
	for _, name := range strings.FieldsFunc(between(t, workflow, `targets: \[(.*)\]`), func(r rune) bool { return r == ' ' || r == ',' }) {
		runs[name] = true
	}
	for _, match := range regexp.MustCompile(`run: .*make -C lab ([a-z-]+)`).FindAllStringSubmatch(read(t, workflow), -1) {
		runs[match[1]] = true
	}
	slices.Sort(night)
	if got := slices.Sorted(maps.Keys(runs)); !slices.Equal(got, night) {
		t.Errorf("the workflow runs %v\nwant %v", got, night)
	}
}

// between returns the part of a file that the group of a pattern matches.
func between(t *testing.T, file, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if match == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return match[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
