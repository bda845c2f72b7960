// Package docs reads the documentation. Its tests keep it true: what it names must exist.
// They also write the pages that are derived from other files.
package docs

//go:generate go test -count=1 -run ^TestPages_AreGenerated$ . -update

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// root is where the repository begins, for packages three folders below it.
const root = "../../.."

// Page is a Markdown file.
type Page struct {
	Path string // relative to the root
	Text string
}

// Pages returns every Markdown file of the repository. The test must be in a package three
// folders below the root.
func Pages(t testing.TB) []Page {
	t.Helper()
	var found []Page
	err := walk(func(name string) error {
		if path.Ext(name) == ".md" && !strings.Contains(name, "/_") { // Go ignores it: it belongs to another module
			found = append(found, pageAt(name))
		}
		return nil
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("found %d pages only: %v", len(found), err)
	}
	return found
}

// pageAt returns a page of the repository, which is empty if it cannot be read.
func pageAt(name string) Page {
	text, _ := os.ReadFile(filepath.Join(root, name))
	return Page{Path: name, Text: string(text)}
}

// unread are folders that are not of the repository, whether they exist or not.
var unread = []string{".git", ".orders", "bin", "node_modules"}

// walk calls visit with each file and folder of the repository.
func walk(visit func(name string) error) error {
	return fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(unread, entry.Name()) {
			return fs.SkipDir
		}
		return visit(name)
	})
}

// names is a set of names.
type names map[string]bool

func (n names) add(all ...string) {
	for _, name := range all {
		n[name] = true
	}
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```([a-z]*)[^\n]*\n(|.*?\n) *```[ \t]*$")
	indented = regexp.MustCompile(`(?m)(?:^|\n\n)((?:    [^\n]*(?:\n|$)|\n)+)`)
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	span     = regexp.MustCompile("`([^`]+)`")
)

// prose returns the text without blocks of code and comments.
func (p Page) prose() string {
	text := comment.ReplaceAllString(fence.ReplaceAllString(p.Text, ""), "")
	return indented.ReplaceAllString(text, "\n\n")
}

// spans returns the text in backquotes. A span may go on in the next line.
func (p Page) spans() []string {
	var found []string
	for paragraph := range strings.SplitSeq(p.prose(), "\n\n") {
		for _, match := range span.FindAllStringSubmatch(paragraph, -1) {
			found = append(found, strings.Join(strings.Fields(match[1]), " "))
		}
	}
	return found
}

// code returns every line of code: the spans, and the lines of blocks. A line that ends in
// a backslash goes on in the next one.
func (p Page) code() []string {
	found := p.spans()
	for line := range strings.Lines(strings.ReplaceAll(p.blocks(), "\\\n", " ")) {
		found = append(found, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
	}
	return found
}

// blocks returns the text of all blocks of code.
func (p Page) blocks() string {
	var text strings.Builder
	for _, match := range fence.FindAllStringSubmatch(p.Text, -1) {
		text.WriteString(match[2] + "\n")
	}
	for _, match := range indented.FindAllStringSubmatch(fence.ReplaceAllString(p.Text, ""), -1) {
		text.WriteString(match[1] + "\n")
	}
	return text.String()
}

// Diagrams returns the blocks of Mermaid.
func (p Page) Diagrams() []string {
	var found []string
	for _, match := range fence.FindAllStringSubmatch(p.Text, -1) {
		if match[1] == "mermaid" {
			found = append(found, match[2])
		}
	}
	return found
}

var (
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	anchorTag = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
)

// anchors returns the fragments that lead into the page, as GitHub makes them.
func (p Page) anchors() names {
	found, seen := names{}, map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(p.Text, ""), -1) {
		slug := slugOf(match[1])
		seen[slug]++
		if seen[slug] > 1 {
			slug = fmt.Sprintf("%s-%d", slug, seen[slug]-1)
		}
		found.add(slug)
	}
	for _, match := range anchorTag.FindAllStringSubmatch(p.Text, -1) {
		found.add(match[1])
	}
	return found
}

// slugOf returns the fragment of a heading: its text in lower case, spaces as hyphens, and
// nothing but letters, digits, hyphens and underscores.
func slugOf(heading string) string {
	text := strings.NewReplacer("`", "", "*", "").Replace(linkText.ReplaceAllString(heading, "$1"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
