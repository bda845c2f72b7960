// Command night runs parts of the night, which are targets of the Makefile, and writes their
// rows of the report. A red part does not end the night.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	devpostgres "example.com/orders/internal/dev/postgres"
)

const (
	reportFile = "reports/night.md" // seen from lab/
	folder     = "../bin/night/"    // has the output of each part
)

func main() {
	parts := flag.String("parts", "", "the parts to run, of those that are arguments")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), strings.Fields(*parts)); err != nil {
		fmt.Fprintln(os.Stderr, "night:", err)
		os.Exit(1)
	}
}

// run runs parts, and returns an error that names the red ones.
func run(ctx context.Context, night, parts []string) error {
	head, err := describe(ctx)
	// A server runs programs of ../bin as another user than root.
	if err := errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	p := page{head, night}
	none := map[string]string{}
	for _, part := range parts {
		none[part] = ""
	}
	failed := []error{p.write(none)}
	for _, part := range parts {
		row, err := runPart(ctx, part)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", part, err))
		}
		failed = append(failed, p.write(map[string]string{part: row}))
	}
	return errors.Join(failed...)
}

// runPart runs a part and returns its row. Tests are verbose, so that they can be counted
// and those that are skipped say why.
func runPart(ctx context.Context, part string) (row string, err error) {
	commit, err := currentCommit(ctx)
	if err != nil {
		return "", err
	}
	file, err := os.Create(folder + part + ".log")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // read below
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", part)
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -v")
	cmd.Stdout = io.MultiWriter(os.Stdout, file)
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = time.Minute // for processes that outlive make
	began := time.Now()
	red := cmd.Run()
	took := time.Since(began).Round(time.Second)
	output, err := os.ReadFile(file.Name())
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n",
		part, commit, began.UTC().Format("2006-01-02 15:04"), took, result(string(output), red), figures(string(output))), errors.Join(red, err)
}

// currentCommit returns the commit, and says whether files differ from it.
func currentCommit(ctx context.Context) (string, error) {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	changes, unknown := exec.CommandContext(ctx, "git", "status", "--porcelain", ":/", ":!"+reportFile).Output()
	commit := strings.TrimSpace(string(head))
	if len(changes) > 0 {
		commit += " with changes"
	}
	return commit, errors.Join(err, unknown)
}

// A part prints its figures, and NOT CHECKED where something is missing. go test
// prints a line about each test and subtest.
var (
	measured  = regexp.MustCompile(`(?m)^(?:    \w+\.go:\d+: )?figures: (.*)`)
	unchecked = regexp.MustCompile(`NOT CHECKED: .*`)
	passed    = regexp.MustCompile(`(?m)^ *--- PASS: `)
)

// result returns the word for the report. A part is good if it was checked as a whole.
func result(output string, red error) string {
	switch {
	case red != nil:
		return "RED"
	case unchecked.MatchString(output):
		return "in part"
	}
	return "good"
}

// figures returns a part's figures, or the number of passed tests if it prints none, and
// lists the missing checks.
func figures(output string) string {
	var found []string
	for _, match := range measured.FindAllStringSubmatch(output, -1) {
		found = append(found, match[1])
	}
	if len(found) == 0 {
		found = append(found, fmt.Sprintf("%d tests", len(passed.FindAllString(output, -1))))
	}
	missing := unchecked.FindAllString(output, -1)
	slices.Sort(missing)
	found = append(found, slices.Compact(missing)...)
	return strings.ReplaceAll(strings.Join(found, "; "), "|", "/")
}

const layout = "# The night\n\n" +
	"`make -C lab nightly` runs each part and writes this page; `PARTS='faults alerts'` runs some of them again.\n\n" +
	"%d cores, %s, %s\n" +
	"| part | commit | began (UTC) | time | result | figures |\n|---|---|---|---:|---|---|\n"

// describe returns the report's first lines, with the machine and its programs.
func describe(ctx context.Context) (string, error) {
	programs, missing := devpostgres.Programs(ctx, os.Stderr)
	version, err := exec.CommandContext(ctx, programs+"/postgres", "--version").Output()
	return fmt.Sprintf(layout, runtime.NumCPU(), runtime.Version(), version), errors.Join(missing, err)
}

// page is the report, with a row for each part.
type page struct {
	head  string
	parts []string
}

var rowOfPage = regexp.MustCompile(`(?m)^\| (\S+) \|.*\n`)

// write writes the page with new rows, and with the ones of other parts that it has.
func (p page) write(changed map[string]string) error {
	old, err := os.ReadFile(reportFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rows := map[string]string{}
	for _, row := range rowOfPage.FindAllStringSubmatch(string(old), -1) {
		rows[row[1]] = row[0]
	}
	maps.Copy(rows, changed)
	text := []byte(p.head)
	for _, part := range p.parts {
		text = append(text, cmp.Or(rows[part], "| "+part+" | | | | NOT RUN | |\n")...)
	}
	return os.WriteFile(reportFile, text, 0o644)
}
