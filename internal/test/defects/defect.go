package main

import (
	"slices"
	"strings"
)

// defect is a defect that was repaired, and the test that shows it.
type defect struct {
	// name is what `make defect D=name` takes.
	name string
	// symptom is what somebody saw, in one sentence.
	symptom string
	// found is how it was found.
	found string
	// repair is the commit that repaired it.
	repair string
	// pkg and test are the regression test at the repair, and prints is a part of the line
	// that it prints before. Where only one subtest shows the defect soon, test is its name.
	pkg, test, prints string
	// now is the package and the name of the test today, "package.Test", if they changed.
	now string
	// files are what the test needs; nil means all test files that the repair changed. They
	// are taken from the commit from, which is the repair if it is empty. edits make them
	// compile before the repair.
	files []string
	from  string
	edits []edit
}

// edit replaces a text that occurs once in a file. Without a text, it adds the file.
type edit struct{ file, before, after string }

// hidden is a defect that no test shows at the commit before its repair.
type hidden struct {
	name, symptom, found, repair string
	// reason says why it is not shown, and today which test stands for it.
	reason, today string
}

// area is what defects were about.
type area struct {
	title   string
	defects []defect
}

var areas = []area{
	{"Money and goods", moneyDefects},
	{"Answers", answerDefects},
	{"Waiting", livenessDefects},
	{"Input", inputDefects},
	{"Trust and secrets", trustDefects},
	{"Operation", operationDefects},
}

// defects returns all defects that can be shown.
func defects() []defect {
	var all []defect
	for _, a := range areas {
		all = slices.Concat(all, a.defects)
	}
	return all
}

// whereNow returns the package and the name of the test today, without the subtest.
func (d defect) whereNow() (pkg, test string) {
	if d.now == "" {
		test, _, _ = strings.Cut(d.test, "/")
		return d.pkg, test
	}
	pkg, test, _ = strings.Cut(d.now, ".")
	return pkg, test
}

// trimmed returns a line of output without its ends, at most 160 bytes of it.
func trimmed(line string) string {
	line = strings.TrimSpace(line)
	return line[:min(len(line), 160)]
}

// How a defect was found.
const (
	inReview  = "review"
	byAttack  = "attack"
	byFault   = "fault experiment"
	byFuzzing = "fuzzing"
	byTest    = "test"
)
