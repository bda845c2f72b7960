package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSubjects_ArePinnedAndHaveARow(t *testing.T) {
	t.Parallel()
	pins := mustRead(t, "../go.mod")
	for _, file := range mustGlob(t, "../*/package.json") {
		pins += mustRead(t, file)
	}
	page := mustRead(t, "../../RESULTS.md")
	subjects, err := readSubjects("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(subjects) < 15 {
		t.Errorf("%d subjects, want at least 15", len(subjects))
	}
	for _, s := range subjects {
		if s.group() < 0 || s.Name == "" || s.profile == "" || s.Setup == "" || s.Promise == "" || s.Place == "" {
			t.Errorf("%s: subject.yaml or auth19.yaml lacks something: %+v", s.id, s)
		}
		if s.Package != "" && !strings.Contains(pins, `"`+s.Package+`": "`+s.Version+`"`) && !strings.Contains(pins, s.Package+" "+s.Version+"\n") {
			t.Errorf("%s: neither a package.json nor go.mod pins %s %s", s.id, s.Package, s.Version)
		}
		link := "| [" + s.Name + "](#" + s.id + ") "
		for _, row := range []string{strings.TrimSpace(link+s.Version) + " |", link + "| " + s.profile + " |"} {
			if !strings.Contains(page, row) {
				t.Errorf("RESULTS.md has no row %q: run make -C kit/auth19 table", row)
			}
		}
	}
}

func TestSubjects_AreCompleteFolders(t *testing.T) {
	t.Parallel()
	for _, run := range mustGlob(t, "../*/run") {
		if _, err := readFolder(filepath.Dir(run)); err != nil {
			t.Error(err)
		}
	}
}

func TestSubjects_AreChosenByName(t *testing.T) {
	t.Parallel()
	subjects, err := readSubjects("..")
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := named(subjects, []string{"fiber", "giftcards"})
	if err != nil || len(chosen) != 3 {
		t.Errorf("got %d subjects and %v, want fiber and two forms of giftcards", len(chosen), err)
	}
	if _, err := named(subjects, []string{"fibre"}); err == nil {
		t.Error("an unknown name is accepted")
	}
}

func TestReport_CountsFailures(t *testing.T) {
	t.Parallel()
	s := &subject{}
	for _, report := range []string{
		`{"results": [{"probe": "A", "verdict": "pass"}, {"probe": "B", "verdict": "fail"}]}`,
		`{"results": [{"probe": "B", "verdict": "pass"}]}`,
	} {
		if err := s.add([]byte(report)); err != nil {
			t.Fatal(err)
		}
	}

	if s.verdicts() != "✓✗" || s.failed["B"] != 1 || s.asked["B"] != 2 || !slices.Equal(s.red(), []string{"B"}) {
		t.Errorf("got %+v", s)
	}
}

func TestRow_NamesTheCauseOfAFailureThatFollows(t *testing.T) {
	t.Parallel()
	s := &subject{}
	err := s.add([]byte(`{"results": [
		{"probe": "D", "verdict": "fail", "findings": [{"rule": "mismatch", "got": "replayed", "verdict": "fail"}]},
		{"probe": "E", "verdict": "fail", "follows": "D", "findings": [{"rule": "concurrent other", "got": "replayed", "verdict": "fail"}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}

	if row := s.row([]string{"D", "E"}); !strings.Contains(row, "| ✗ | ←D |") {
		t.Errorf("the row is %s", row)
	}
	section := s.section()
	if !strings.Contains(section, "\n- E follows from D: concurrent other: replayed.\n") || strings.Contains(section, "PROBES=E") {
		t.Errorf("the section is %s", section)
	}
	if red := s.red(); !slices.Equal(red, []string{"D"}) {
		t.Errorf("%s are asked again, want D", red)
	}
}

func TestRow_ShowsWhatIsNotPromised(t *testing.T) {
	t.Parallel()
	s := &subject{Unpromised: map[string]string{"D": "A later input is ignored (README.md).", "A": "Unused."}}
	err := s.add([]byte(`{"results": [
		{"probe": "A", "verdict": "pass"},
		{"probe": "D", "verdict": "fail", "findings": [{"rule": "mismatch", "got": "replayed", "verdict": "fail"}]},
		{"probe": "G", "verdict": "fail", "findings": [{"rule": "route", "got": "replayed", "verdict": "fail"}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}

	if row := s.row([]string{"A", "D", "G"}); !strings.Contains(row, "| ✓ | ○ | ✗ |") {
		t.Errorf("the row is %s", row)
	}
	section := s.section()
	if !strings.Contains(section, "Not promised: A later input is ignored (README.md). mismatch: replayed") || !strings.Contains(section, "PROBES=D") {
		t.Errorf("the section is %s", section)
	}
	if strings.Count(section, "Not promised") != 1 {
		t.Errorf("another probe has the sentence: %s", section)
	}
}

func TestSlot_IsInTheDescriptionAndNotInTheReport(t *testing.T) {
	t.Parallel()
	s := &subject{slot: 2}
	err := s.add([]byte(`{"results": [{"probe": "B", "findings": [{"exchanges": [{"curl": "curl 'http://127.0.0.1:18721/charges'"}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}

	if got := string(s.moved([]byte("server: http://127.0.0.1:18701, redis-cli -p 18703"))); got != "server: http://127.0.0.1:18721, redis-cli -p 18723" {
		t.Errorf("the description is %q", got)
	}
	if got := s.results[0].Findings[0].Exchanges[0].Curl; got != "curl 'http://127.0.0.1:18701/charges'" {
		t.Errorf("the reproduction is %q", got)
	}
}

func TestReproduction_HasTheTokens(t *testing.T) {
	t.Parallel()
	var r result
	if err := json.Unmarshal([]byte(`{"findings": [{"exchanges": [
		{"curl": "curl -H 'Authorization: Bearer <token of a>'"}, {"curl": "curl -H 'Authorization: Bearer <token of b>'"}
	]}]}`), &r); err != nil {
		t.Fatal(err)
	}
	got := (&subject{}).reproduction(r, r.Findings[0])
	if !strings.Contains(got, "Bearer alice") || !strings.Contains(got, "Bearer bob") {
		t.Errorf("the commands cannot be copied: %s", got)
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, err = %v", pattern, len(files), err)
	}
	return files
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
