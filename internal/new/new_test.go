package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"hash/crc32"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

const copied = "acme.example/gift-cards"

// makeCopy copies this service and returns the folder of the copy. The folder is the same
// in each run, because the cache of the compiler goes by it.
func makeCopy(t *testing.T) string {
	t.Helper()
	if _, err := readTree(root); err != nil {
		t.Skip(err)
	}
	own, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("new-%08x", crc32.ChecksumIEEE([]byte(own))))
	remove := func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	remove()
	t.Cleanup(remove)
	t.Setenv("GIT_AUTHOR_NAME", "new")
	t.Setenv("GIT_AUTHOR_EMAIL", "new@example.com")
	t.Setenv("GIT_COMMITTER_NAME", "new")
	t.Setenv("GIT_COMMITTER_EMAIL", "new@example.com")
	if err := copyService(root, copied, dir, log.New(t.Output(), "", 0)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runIn runs a command in a copy.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, out)
	}
}

// business are texts with the name in which it does not stand for the service. ‹› is the
// name. A word of the service that reads like one of them is not found.
var business = []struct{ reason, pattern string }{
	{"the table", `\b(?:FROM|INTO|UPDATE|JOIN|TABLE|ON|TRUNCATE|REFERENCES|ANALYZE|SELECT|INDEX)\b.*\b‹›\b`},
	{"a column", `\b‹›\.\w+_\w+|\b‹›\.reference\b`},
	{"what is named after the table", `\b‹›_(?:id_seq|pkey|\w*check1?|customer_id\w*|creator_reference|total_is_number|reference|status|` +
		`total|of_\w+|by_\w+|newest|reserved_until|unpaid|used|from)\b`},
	{"a list of tables", `"‹›", "(?:product|order_item|outbox)|, "‹›", "order_item|\{"‹›"\}, func|table: "‹›"|Name: "‹›"|table="‹›"`},
	{"a row of the table", `second\("‹›"|"‹›": \{|\{"‹›", compare|"‹›", filter`},
	{"a tag of the contract and a label of a test", `, "‹›", "createOrder|equal\(t, "‹›"|Resource: "‹›"|"‹›", \[\]int64|"debtor"`},
	{"the route", `/‹›(?:[/?"'` + "`" + `: ,)$]|\\"|$)|\(‹›\||//‹›/1`},
	{"a program's variable", `\b‹›(?:\.|\[| :?=|: )|[ (*&.!]‹›[,);]`},
	{"the plural of order", `[a-z0-9,:%)*/>] \*?‹›\b|\b‹›[,.;:]? [a-z(%"]|\b‹›['/]|[a-z]\n‹›\b|(?m)^\W*‹›\b|‹›$`},
	{"a limit, a list and a file of orders", `(?i)unpaid_‹›|\[‹›\]|list_‹›|\d{4}_\w*‹›|Lists are .‹›.|the table .‹›.|Order \| \d+ \| .‹›.|Payment \| \d+ \| .‹›.`},
	{"the folder of the server of a test", `/‹-›-pg-\d+`},
	{"a query", `\b(?i:‹›)(?:By|Exist|And)\w*`},
}

// wordsLeft returns the lines of a text with the name where it is not that of the business.
func wordsLeft(text string) (lines []string) {
	for line := range strings.Lines(text) {
		left := line
		for _, pattern := range allowed {
			left = pattern.ReplaceAllString(left, "")
		}
		if spellings.MatchString(left) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// spellings matches the name as a service's, and allowed as a word of the business.
var spellings, allowed = func() (*regexp.Regexp, []*regexp.Regexp) {
	own, err := ownName(root)
	if err != nil {
		panic(err)
	}
	spell := strings.NewReplacer("‹›", own.snake, "‹-›", own.kebab, "‹U›", own.upper, "‹C›", own.camel, "‹H›", own.header,
		"‹m›", regexp.QuoteMeta(own.module)).Replace
	var allowed []*regexp.Regexp
	for _, b := range business {
		allowed = append(allowed, regexp.MustCompile(spell(b.pattern)))
	}
	return regexp.MustCompile(spell(`(?:\b|_)(?:‹›|‹-›|‹U›)(?:\b|_)|#‹›[a-z]|\b‹H›-|\b‹C›[A-Z]|‹m›`)), allowed
}()

// TestCopy_HasNoWordOfTheService looks at texts, and in Go at strings and comments.
func TestCopy_HasNoWordOfTheService(t *testing.T) {
	files, err := readTree(makeCopy(t))
	if err != nil {
		t.Fatal(err)
	}
	for path, f := range files {
		if isSchema(path) || !isText(f.data) {
			continue
		}
		for _, line := range wordsLeft(textOf(path, f.data)) {
			t.Errorf("%s: %s", path, line)
		}
	}
}

// isSchema reports whether a file consists of SQL or of rows, in which the name is the table.
func isSchema(path string) bool {
	return strings.HasPrefix(path, "migrations/") && strings.HasSuffix(path, ".sql") || strings.Contains(path, "/queries/") ||
		strings.Contains(path, "/dbsqlc/") || strings.HasPrefix(path, "lab/") && filepath.Ext(path) == ".sql" || filepath.Ext(path) == ".jsonl"
}

// textOf returns a file's text, of Go the strings and comments: identifiers mean the business.
func textOf(path string, data []byte) string {
	if !strings.HasSuffix(path, ".go") {
		return string(data)
	}
	var text strings.Builder
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, set.Base(), len(data)), data, nil, scanner.ScanComments)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return text.String()
		}
		if kind == token.STRING || kind == token.COMMENT {
			text.WriteString(literal + "\n")
		}
	}
}

func TestNew_FolderMustBeNewAndOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{dir: "is not empty", root + "/tickets": "inside this repository", root: "inside this repository"} {
		if err := copyService(root, copied, folder, log.New(t.Output(), "", 0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v, want one that says %q", folder, err, want)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %d entries, want the one that was there", len(entries))
	}
	if err := checkFolder(root, t.TempDir()); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestNew_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-module", copied}, {"-dir", t.TempDir()}} {
		if err := run(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "usage: make new MODULE=") {
			t.Errorf("%q: err = %v, want the usage", args, err)
		}
	}
}
