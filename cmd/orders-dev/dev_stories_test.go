package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestUsePage_StoriesEndAsShown pastes the commands of docs/use.md into one shell.
func TestUsePage_StoriesEndAsShown(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/use.md")
	if err != nil {
		t.Fatal(err)
	}
	script, want := "set -e\n", ""
	for _, block := range regexp.MustCompile("(?s)\n```(sh|text)\n(.*?\n)```\n").FindAllStringSubmatch(string(page), -1) {
		if block[1] == "sh" {
			script += block[2]
		} else {
			want += block[2]
		}
	}
	dir := newDir(t)
	d := startDev(t, dir)
	defer d.stop(t)
	var token bytes.Buffer
	if err := run(t.Context(), strings.Fields("token --sub sber-42 --role customer --dir "+dir), nil, &token); err != nil {
		t.Fatal(err)
	}

	shell := exec.CommandContext(t.Context(), "sh", "-c", script)
	shell.Env = append(os.Environ(), "ORDERS="+d.url, "CUSTOMER="+strings.TrimSpace(token.String()))
	var failure bytes.Buffer
	shell.Stderr = &failure
	printed, err := shell.Output()

	if got := strings.ReplaceAll(string(printed), "\r", ""); err != nil || got != want {
		t.Errorf("%v\n%s\nprinted\n%s\nwant\n%s", err, failure.String(), got, want)
	}
}
