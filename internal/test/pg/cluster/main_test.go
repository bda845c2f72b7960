package main

import (
	"testing"
)

func TestRunCommand_ReturnsTheExitCode(t *testing.T) {
	tests := map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 1}
	for script, want := range tests {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			code, err := runCommand(t.Context(), []string{"sh", "-c", script})
			if code != want {
				t.Errorf("code = %d, err = %v; want %d", code, err, want)
			}
		})
	}
}
