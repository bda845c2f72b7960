package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"example.com/orders/kit/guard/routetest/probe"
)

// junitSuite is the form that CI systems read: one case for each probe, the causes first.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *report) junit() ([]byte, error) {
	suite := junitSuite{Name: "auth19 " + r.Profile}
	for _, c := range r.Causes {
		suite.add(c.result, c.line())
	}
	for _, got := range r.Results {
		if got.Follows != "" || !got.decides() {
			suite.add(got, got.row())
		}
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	return []byte(xml.Header + string(text) + "\n"), err
}

func (s *junitSuite) add(got result, message string) {
	c := junitCase{Class: "auth19." + got.Level, Name: got.Probe + " " + got.Title, Time: fmt.Sprintf("%.3f", got.Seconds)}
	text := &junitText{Message: message, Text: got.evidence()}
	switch {
	case got.broke():
		c.Failure = text
		s.Failures++
	case got.Verdict == string(probe.Unreachable):
		c.Error = text
		s.Errors++
	case got.Verdict == string(probe.NotApplicable), got.Verdict == string(probe.CannotTell), got.Known, got.Follows != "":
		c.Skipped = text
		s.Skipped++
	default:
		c.Output = message
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

func (r *report) markdown() ([]byte, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "# auth19: %s\n\n", strings.Join(r.Servers, " and "))
	if causes := r.causesAs("- "); causes != "" {
		text.WriteString("## Causes\n\n" + plain(causes) + "\n")
	}
	fmt.Fprintf(&text, "%s. Profile %s, seed %d, %s.\n\n", r.sum(), r.Profile, r.Seed, r.Started.Format("2006-01-02"))
	text.WriteString("| | level | expected | verdict | |\n|---|---|---|---|---|\n")
	for _, got := range r.Results {
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", got.Probe, got.Level, got.Title, got.verdict(), cell(got.reason()))
	}
	for _, got := range r.Results {
		if got.red() {
			fmt.Fprintf(&text, "\n## %s: %s\n\n~~~text\n%s\n~~~\n", got.Probe, got.Title, strings.ReplaceAll(got.evidence(), "~~~", `\~~~`))
		}
	}
	return []byte(text.String()), nil
}

// plain returns a text that is no HTML.
func plain(text string) string { return strings.ReplaceAll(text, "<", "&lt;") }

// cell returns a text that fits into a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(plain(text))
}
