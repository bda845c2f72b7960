package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// settledWords are the words that the glossary of CONTRIBUTING.md has better ones for, as
// far as they have no other meaning. CONTRIBUTING.md explains each.
var settledWords = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	"tells? whether", "as it shall", "is told", "are told", "lets? in", "of its own accord", "the other one's",
	"checkouts?", "movements?", "laps(e|es|ed|ing)", "renewals?", "poison(s|ed)?", "bur(y|ies|ied)", "bypass(es|ed)?",
	"psp", "the books",
}, "|") + `)\b`)

// wordsInPlace are lines in which such a word is a name: a table of old databases, a document, an action.
var wordsInPlace = regexp.MustCompile(`(?i)table movement\b|'movement'|calls movement|agentic checkout|actions/checkout@`)

func TestLanguage_UsesTheWordsOfTheGlossary(t *testing.T) {
	t.Parallel()
	for _, name := range textFiles(t) {
		for i, line := range strings.Split(mustRead(t, name), "\n") {
			word := settledWords.FindString(line)
			if word != "" && !wordsInPlace.MatchString(line) {
				t.Errorf("%s:%d: %q: %s", name, i+1, word, strings.TrimSpace(line))
			}
		}
	}
}

func TestLanguage_WordsAreFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"Valid tells whether the key is valid.": true,
		"a lapsed reservation":                  true,
		"type Checkout struct":                  true,
		"reports whether the key is valid":      false,
		"the relapse of a collapse":             false,
	} {
		if got := settledWords.MatchString(line); got != want {
			t.Errorf("%q: found = %v, want %v", line, got, want)
		}
	}
}

// textFiles returns the source and text files of the repository, except the glossary
// itself and this test, which quote the words.
func textFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(base, ".") || base == "node_modules") {
			return fs.SkipDir
		}
		isText := slices.Contains([]string{".go", ".sql", ".md", ".yaml", ".txt"}, filepath.Ext(base)) || base == "Makefile"
		if isText && base != "CONTRIBUTING.md" && base != "language_test.go" {
			name, err := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// mustRead returns the text of a file of the repository.
func mustRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
