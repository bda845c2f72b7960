package main

import (
	"fmt"
	"strings"
)

const preface = `# Defects

<!-- Written by go run ./internal/test/defects -markdown from the tables in internal/test/defects. -->

The defects of this service that its history names, and what shows each of them again. A test
checks that this page is what the tables say, and that each test exists today.

    make defect D=payment-charged-twice    # show one
    make defects                           # show all, more than an hour on two cores
    go run ./internal/test/defects -list   # list the names

The program checks out the commit before the repair, adds the regression test of the repair
and runs it. The test must fail there, and must print the text in the last column. What does
not compile shows nothing. Then the test must pass at the repair. A shallow clone lacks these
commits: ` + "`git fetch --unshallow`" + ` fetches them.

`

const how = `How a defect was found:

- **review**: somebody read the code.
- **attack**: somebody sent the service what it does not expect, or did to it what its users must not be able to do.
- **fault experiment**: a server, a standby, a process or a connection was ended or stalled.
- **fuzzing**: generated input.
- **test**: a test or a benchmark that was written for the behaviour.
`

const adding = `
To add one, add an entry to the table of its area in [internal/test/defects](../internal/test/defects),
run ` + "`make defect`" + `, and write this page with ` + "`go run ./internal/test/defects -markdown`" + `. An entry
needs the commit of the repair, so it comes after it.
`

const unshownPreface = `
## Not shown

No test shows these at the commit before the repair. The last column names what stands for
them today.

| Defect | Found by | Repaired in | Why it is not shown | Test today |
|---|---|---|---|---|
`

// document returns the page of all defects.
func document() string {
	var text strings.Builder
	text.WriteString(preface)
	for _, a := range areas {
		fmt.Fprintf(&text, "## %s\n\n", a.title)
		writeTable(&text, a.defects)
	}
	text.WriteString(how)
	text.WriteString(adding)
	text.WriteString(unshownPreface)
	for _, d := range unshown {
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", d.symptom, d.found, d.repair, d.reason, d.today)
	}
	return text.String()
}

func writeTable(text *strings.Builder, all []defect) {
	text.WriteString("| Defect | Found by | Repaired in | Test | `make defect` | Printed before the repair |\n|---|---|---|---|---|---|\n")
	for _, d := range all {
		fmt.Fprintf(text, "| %s | %s | %s | %s | D=%s | %s |\n",
			d.symptom, d.found, d.repair, where(d), d.name, quoted(d.prints))
	}
	text.WriteString("\n")
}

// where returns the test of today, with a link to its package.
func where(d defect) string {
	pkg, test := d.whereNow()
	return "`" + test + "` in [" + pkg + "](../" + pkg + ")"
}

// quoted returns a text for a cell of a table. It is no code, because the words of an old
// failure need not occur in the sources of today.
func quoted(text string) string {
	return "“" + strings.NewReplacer("|", `\|`, "<", "&lt;", "_", `\_`, "*", `\*`, "[", `\[`).Replace(text) + "”"
}
