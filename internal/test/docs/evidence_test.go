package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// evidencePage shows evidence.txt with links. It fails where a name does not exist, or where
// a rule that must be checked is not.
func evidencePage(t *testing.T) string {
	t.Helper()
	page := beginPage("Evidence", "internal/test/docs/evidence.txt", `
Each rule with the code that enforces it and the tests that prove it. A test marked ✓ is known to fail
when its protection is taken away: `+"`make -C lab checks`"+` edits the code, runs the test and expects the failure.
`)
	r := mustReadRepository(t)
	checked := checkedTests(r)
	var section string
	_, rules, _ := strings.Cut(pageAt("internal/test/docs/evidence.txt").Text, "\n\n")
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		if heading, isHeading := strings.CutPrefix(line, "# "); isHeading {
			section = heading
			heading, _, _ = strings.Cut(heading, " (e")
			heading = strings.TrimSuffix(heading, " (one)")
			page.WriteString("\n## " + heading + "\n")
			writeHead(page, "rule", "code", "tests")
			continue
		}
		part := strings.Split(line, "|")
		if len(part) != 3 {
			if line != "" {
				t.Errorf("evidence.txt: %q has not three parts", line)
			}
			continue
		}
		writeRow(page, strings.TrimSpace(part[0]), linkCode(t, r, part[1]), linkTests(t, r, section, line, strings.Fields(part[2]), checked))
	}
	return page.String()
}

// linkCode returns links to code.
func linkCode(t *testing.T, r *repository, list string) string {
	t.Helper()
	var links []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		files := r.places[strings.ToLower(name)]
		if fileName.MatchString(name) {
			files = r.filesNamed(name)
		}
		switch {
		case len(files) == 0:
			t.Errorf("evidence.txt names %s, which does not exist", name)
		case len(files) > 1:
			links = append(links, "`"+name+"`")
		default:
			links = append(links, fmt.Sprintf("[%#q](../%s)", name, files[0]))
		}
	}
	return strings.Join(links, ", ")
}

// linkTests returns links to the tests of a rule.
func linkTests(t *testing.T, r *repository, section, rule string, tests []string, checked names) string {
	t.Helper()
	var links []string
	failing := 0
	for _, name := range tests {
		link := "`" + name + "`"
		switch files := r.testFiles[name]; len(files) {
		case 0:
			t.Errorf("evidence.txt names %s, which is no test", name)
		case 1:
			link = fmt.Sprintf("[%s](../%s)", link, files[0])
		}
		if checked[name] {
			link += " ✓"
			failing++
		} else if strings.HasSuffix(section, "(each)") {
			t.Errorf("no check makes %s fail, which proves: %s", name, rule)
		}
		links = append(links, link)
	}
	if strings.HasSuffix(section, "(one)") && failing == 0 {
		t.Errorf("no check makes a test fail that proves: %s", rule)
	}
	return strings.Join(links, ", ")
}

// checkRow is the line of a check that names its tests, "test: ./folder TestA|TestB/subtest".
var checkRow = regexp.MustCompile(`(?m)^test: \S+ (\S+)`)

// checkedTests returns the tests that a check of the lab expects to fail. Those of grouped.txt
// must pass.
func checkedTests(r *repository) names {
	found := names{}
	for file := range r.files {
		if ok, _ := path.Match("lab/checks/rows/*.txt", file); !ok || path.Base(file) == "grouped.txt" {
			continue
		}
		for _, row := range checkRow.FindAllStringSubmatch(pageAt(file).Text, -1) {
			for test := range strings.SplitSeq(row[1], "|") {
				test, _, _ = strings.Cut(test, "/")
				found.add(test)
			}
		}
	}
	return found
}

// filesNamed returns the files of the service with a name.
func (r *repository) filesNamed(name string) (found []string) {
	for file := range r.files {
		if path.Base(file) == name && isService(file) {
			found = append(found, file)
		}
	}
	slices.Sort(found)
	return found
}
