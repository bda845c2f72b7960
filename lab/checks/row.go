package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/orders/lab/overlay"
)

// A row edits the source and runs tests, which must fail. rows/AREA.txt holds it as text:
//
//	== name
//	why: the defect that it prevents (optional)
//	test: ./package TestName|TestOther/subtest
//	edit: path/to/file.go
//	-old text, which occurs once
//	+new text
type row struct {
	area, name string
	// why names the defect that the protection prevents, where the name does not.
	why   string
	edits []overlay.Edit
	// pkg is a folder below the root. test names its tests, separated by |; empty means all.
	pkg, test string
	// flags go to go test as well.
	flags []string
	// prints is text that a failure must print. Empty accepts any failure but a hang, which
	// "test timed out" accepts.
	prints string
	// passes is set if the tests must pass despite the edits.
	passes bool
	// within bounds the tests.
	within time.Duration

	verdict string
	took    time.Duration
}

// String returns the area and the name, which -only selects by.
func (r *row) String() string { return r.area + ": " + r.name }

// place is the package with the flags: rows at one place share the run without edits.
func (r *row) place() string { return r.pkg + " " + strings.Join(r.flags, " ") }

// tests returns the test names; subtests are cut off.
func (r *row) tests() []string {
	var names []string
	for name := range strings.SplitSeq(r.test, "|") {
		name, _, _ = strings.Cut(name, "/")
		names = append(names, name)
	}
	return names
}

// readRows reads lab/checks/rows.
func readRows() ([]*row, error) {
	files, err := filepath.Glob("checks/rows/*.txt")
	if err != nil {
		return nil, err
	}
	var rows []*row
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		area, _, _ := strings.Cut(filepath.Base(file), ".")
		for _, block := range strings.Split("\n"+string(text), "\n== ")[1:] {
			r, err := parse(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, r.name, err)
			}
			r.area = area
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// parse reads one row.
func parse(block string) (r *row, err error) {
	name, body, _ := strings.Cut(block, "\n")
	r = &row{name: name, within: 5 * time.Minute}
	for line := range strings.SplitSeq(strings.TrimRight(body, "\n"), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
		case len(r.edits) > 0 && line[0] == '-':
			r.edits[len(r.edits)-1].Before += line[1:] + "\n"
		case len(r.edits) > 0 && line[0] == '+':
			r.edits[len(r.edits)-1].After += line[1:] + "\n"
		case key == "edit":
			r.edits = append(r.edits, overlay.Edit{File: filepath.Join(root, value)})
		case key == "test":
			r.pkg, r.test, _ = strings.Cut(value, " ")
		case key == "why":
			r.why = value
		case key == "flags":
			r.flags = strings.Fields(value)
		case key == "prints":
			r.prints = value
		case line == "want: pass":
			r.passes = true
		case key == "within":
			r.within, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("cannot read %q", line)
		}
		if err != nil {
			return r, err
		}
	}
	for i, e := range r.edits {
		r.edits[i].Before, r.edits[i].After = strings.TrimSuffix(e.Before, "\n"), strings.TrimSuffix(e.After, "\n")
	}
	return r, nil
}
