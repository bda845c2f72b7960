package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/orders/kit/guard/routetest/probe"
)

// console is the terminal of a person, or the log of CI.
type console struct {
	in   io.Reader
	asks bool      // a person can answer
	out  io.Writer // verdicts
	err  io.Writer // progress, questions and errors
}

// say prints to a terminal, where a failure has no remedy.
func say(out io.Writer, format string, args ...any) {
	_, _ = io.WriteString(out, probe.Safe(fmt.Sprintf(format, args...)))
}

// step shows the progress of a probe, on a terminal only.
func step(progress io.Writer, text string) {
	if isTerminal(progress) {
		_, _ = io.WriteString(progress, "\r\033[K"+text)
	}
}

func isTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	if !isFile {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// consent shows the commands of a file, which may come from a stranger, and returns an
// error unless a person lets them run.
func (c console) consent(ctx context.Context, f *file) error {
	if len(f.commands) == 0 {
		return nil
	}
	say(c.err, "%s runs commands in %s:\n\n  %s\n\n", f.path, filepath.Dir(f.path), strings.Join(f.commands, "\n  "))
	refused := errors.New("nothing was run; with --yes, they run without a question")
	if !c.asks {
		return refused
	}
	say(c.err, "Run them? [y/N] ")
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(c.in).ReadString('\n')
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
	case answer := <-line:
		if slices.Contains([]string{"y", "yes"}, answer) {
			return nil
		}
	}
	return refused
}
