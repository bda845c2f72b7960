package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// subject is an implementation under test: a folder with a server that uses it, or one of
// several forms that share the folder.
type subject struct {
	id, folder, form, profile string

	Name, Package, Version, Group, Setup, Promise, Place string

	Needs []string

	// Unpromised says, by probe, why a failure breaks no promise of the project, and where the
	// documentation says so.
	Unpromised map[string]string

	slot    int
	results []result       // of the first run
	asked   map[string]int // how often, by probe
	failed  map[string]int // with the harm of the first run
}

// readSubjects returns the subjects in a folder.
func readSubjects(dir string) ([]*subject, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "auth19.yaml"))
	if err != nil {
		return nil, err
	}
	var subjects []*subject
	for _, file := range files {
		forms, err := readFolder(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, forms...)
	}
	slices.SortStableFunc(subjects, func(a, b *subject) int {
		return cmp.Compare(a.group(), b.group())
	})
	return subjects, nil
}

// group returns the index of the group, or -1.
func (s *subject) group() int {
	return slices.IndexFunc(groups, func(g group) bool { return g.name == s.Group })
}

// readFolder returns the subject in a folder, or each of its forms.
func readFolder(dir string) ([]*subject, error) {
	folder := filepath.Base(dir)
	var file struct{ Profile string }
	var described struct {
		subject `yaml:",inline"`
		Forms   []string
	}
	for name, into := range map[string]any{"auth19.yaml": &file, "subject.yaml": &described} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", folder, name, err)
		}
	}
	s := described.subject
	s.id, s.folder, s.profile = folder, folder, file.Profile
	if described.Forms == nil {
		return []*subject{&s}, nil
	}
	var forms []*subject
	for i, form := range described.Forms {
		one := s
		if i > 0 {
			one.Promise = "As above."
		}
		one.id, one.form, one.Name = folder+"-"+form, form, s.Name+", "+form
		forms = append(forms, &one)
	}
	return forms, nil
}

// The ports of a slot begin with digits of the slot. In the files, they are those of slot 0.
func (s *subject) ports() string { return fmt.Sprintf("187%d", s.slot) }

const portsInFiles = "1870"

// moved returns the description of a subject with the ports of the slot.
func (s *subject) moved(file []byte) []byte {
	return bytes.ReplaceAll(file, []byte(portsInFiles), []byte(s.ports()))
}

// movedBack returns a report with the ports of slot 0, where a subject runs that runs alone.
func (s *subject) movedBack(report []byte) []byte {
	return bytes.ReplaceAll(report, []byte("127.0.0.1:"+s.ports()), []byte("127.0.0.1:"+portsInFiles))
}

// result is the answer of auth19 to one probe.
type result struct {
	Probe, Title, Verdict, Note string

	Follows  string // the earlier probe whose failure explains this one
	Findings []finding
}

type finding struct {
	Rule, Got, Want, Verdict, Says, Source string
	Before                                 int `json:"effects_before"`
	After                                  int `json:"effects_after"`
	Exchanges                              []exchange
}

type exchange struct{ Curl, Response string }

// add adds a report of auth19. The first one fills the row.
func (s *subject) add(report []byte) error {
	var got struct{ Results []result }
	if err := json.Unmarshal(s.movedBack(report), &got); err != nil {
		return err
	}
	if s.results == nil {
		s.results = got.Results
	}
	if s.asked == nil {
		s.asked, s.failed = map[string]int{}, map[string]int{}
	}
	for _, r := range got.Results {
		s.asked[r.Probe]++
		first := slices.IndexFunc(s.results, func(first result) bool { return first.Probe == r.Probe })
		if r.Verdict == "fail" && first >= 0 && r.worst().harm() == s.results[first].worst().harm() {
			s.failed[r.Probe]++
		}
	}
	return nil
}

// red returns the probes that failed in the first run, unless another failure explains it or
// nobody promised otherwise.
func (s *subject) red() []string {
	var red []string
	for _, r := range s.results {
		if s.sign(r) == signs["fail"] {
			red = append(red, r.Probe)
		}
	}
	return red
}

// signs are the verdicts as they stand in the table.
var signs = map[string]string{"pass": "✓", "fail": "✗", "differs": "≠", "not applicable": "–", "cannot tell": "?", "unreachable": "!"}

// sign returns a result as a cell of the table.
func (s *subject) sign(r result) string {
	switch {
	case r.Follows != "":
		return "←" + r.Follows
	case r.Verdict == "fail" && s.Unpromised[r.Probe] != "":
		return "○"
	}
	return signs[r.Verdict]
}

// verdicts returns the row as one text.
func (s *subject) verdicts() string {
	var row strings.Builder
	for _, r := range s.results {
		row.WriteString(s.sign(r))
	}
	return row.String()
}
