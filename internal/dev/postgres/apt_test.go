package postgres

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	testwait "example.com/orders/internal/test/wait"
)

func TestFollow_PrintsTheLastLineWhileTheCommandRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "echo Fetching; echo Unpacking; read -r line; echo Ready; exit 7")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	go func() {
		for ctx.Err() == nil {
			select {
			case ticks <- time.Now():
			case <-ctx.Done():
			}
		}
	}()
	notices, write := io.Pipe()
	var output string
	go func() {
		var err error
		output, err = follow(cmd, write, ticks)
		_ = write.CloseWithError(err)
	}()

	printed := false
	lines := bufio.NewScanner(notices)
	for lines.Scan() {
		if lines.Text() == "Unpacking" && !printed {
			printed = true
			_ = input.Close() // the command ends
		}
	}

	if !printed {
		t.Error("the line of the running command was not printed")
	}
	if output != "Fetching\nUnpacking\nReady" || lines.Err() == nil {
		t.Errorf("got output %q and error %v, want all lines and an error", output, lines.Err())
	}
}
