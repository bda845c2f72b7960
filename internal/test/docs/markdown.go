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

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
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
		if path.Ext(name) == ".md" && !strings.Contains(name, "/_") { // Go ignores it: it belongs to a separate module
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
	content, _ := os.ReadFile(filepath.Join(root, name))
	return Page{Path: name, Text: string(content)}
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

// document is the content of a page, by kind.
type document struct {
	prose   string   // the text; code spans keep backquotes
	spans   []string // in backquotes
	blocks  []block
	links   []string // destinations, those of images included
	anchors names    // the fragments that lead into the page, as GitHub makes them
}

// block is a code block. An excerpt says after the language which file has it.
type block struct{ language, file, text string }

// read parses the page.
func (p Page) read() document {
	source, d := []byte(p.Text), document{anchors: names{}}
	var prose strings.Builder
	visit := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				prose.WriteString("\n\n")
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			prose.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				prose.WriteByte('\n')
			}
		case *ast.CodeSpan:
			span := textOf(n, source)
			d.spans = append(d.spans, span)
			prose.WriteString("`" + span + "`")
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock:
			d.blocks = append(d.blocks, fencedBlock(n, source))
		case *ast.CodeBlock:
			d.blocks = append(d.blocks, block{text: string(n.Lines().Value(source))})
		case *ast.Link:
			d.links = append(d.links, string(n.Destination))
		case *ast.Image:
			d.links = append(d.links, string(n.Destination))
		case *ast.RawHTML:
			d.addHTML(string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			d.addHTML(string(n.Lines().Value(source)))
		case *ast.Heading:
			d.addHeading(slugOf(textOf(n, source)))
		}
		return ast.WalkContinue, nil
	}
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), visit) // visit returns no error
	d.prose = prose.String()
	return d
}

func fencedBlock(n *ast.FencedCodeBlock, source []byte) block {
	b := block{text: string(n.Lines().Value(source))}
	if n.Info != nil {
		b.language, b.file, _ = strings.Cut(string(n.Info.Value(source)), " ")
	}
	return b
}

var (
	htmlLink   = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	htmlAnchor = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
)

// addHeading adds the anchor of a heading. Equal headings get numbers, as GitHub counts them.
func (d *document) addHeading(slug string) {
	anchor := slug
	for n := 1; d.anchors[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", slug, n)
	}
	d.anchors.add(anchor)
}

// addHTML adds the links and anchors of tags, and skips comments.
func (d *document) addHTML(tags string) {
	if strings.HasPrefix(tags, "<!--") {
		return
	}
	for _, match := range htmlLink.FindAllStringSubmatch(tags, -1) {
		d.links = append(d.links, match[1])
	}
	for _, match := range htmlAnchor.FindAllStringSubmatch(tags, -1) {
		d.anchors.add(match[1])
	}
}

// textOf returns the text below a node on one line.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
			continue
		}
		b.WriteString(textOf(child, source))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// in returns the code blocks in a language.
func (d document) in(language string) []string {
	var found []string
	for _, b := range d.blocks {
		if b.language == language {
			found = append(found, b.text)
		}
	}
	return found
}

// code returns every line of code: the spans, and the lines of blocks. A line that ends in
// a backslash goes on in the next one.
func (d document) code() []string {
	found := slices.Clone(d.spans)
	for _, b := range d.blocks {
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
			found = append(found, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		}
	}
	return found
}

// slugOf returns the fragment of a heading: the text in lower case, spaces as hyphens, and
// only letters, digits, hyphens and underscores.
func slugOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
