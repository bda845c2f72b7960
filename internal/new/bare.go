package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// bareFolder holds the example aggregate that replaces the business. Go ignores folders whose
// names begin with an underscore.
const bareFolder = "internal/new/_bare/"

// bare returns the tree without the business: without dropped paths, with the files in
// bareFolder, with edits, and without what does not live without the rest.
func (t tree) bare(root string) (tree, error) {
	own, err := ownName(root)
	if err != nil {
		return nil, err
	}
	left, kept := tree{}, map[string]bool{}
	for name, f := range t {
		if !isDropped(name) {
			left[name] = f
		}
	}
	for name, f := range t {
		if target, ok := strings.CutPrefix(name, bareFolder); ok && target != fragment {
			left[target], kept[target] = f, true
		}
	}
	tables := left.dropSQL(t)
	operations, err := left.filterContract(t[bareFolder+fragment].data, codesOf(t["internal/core/codes.go"].data))
	if err != nil {
		return nil, err
	}
	if err := left.edit(edits); err != nil {
		return nil, err
	}
	left.keepTargets()
	others, err := left.compiled(root, own.module)
	if err != nil {
		return nil, err
	}
	p := pruner{tree: left, module: own.module, kept: kept, before: t.selectors(), others: others}
	p.removeTests(naming(operations, tables))
	if err := p.prune(); err != nil {
		return nil, err
	}
	left.dropOrphans(t)
	return left, nil
}

// naming returns whether a text names an operation or a table that is gone. A test of the
// whole service may not name its routes either.
func naming(operations, tables []string) func(file, text string) bool {
	table := "(" + strings.Join(tables, "|") + ")"
	code := regexp.MustCompile(`\b(` + strings.Join(operations, "|") + `)\b|\b` + table + `_id_seq\b|` + reference + table + `\b`)
	other := regexp.MustCompile(business)
	return func(file, text string) bool {
		isUnit := !strings.HasPrefix(file, "internal/test/") && !strings.HasPrefix(file, "internal/config/")
		return code.MatchString(text) || !isUnit && other.MatchString(text)
	}
}

// Makefile targets and .ci/run stages are paragraphs that include their comments.
var (
	target = regexp.MustCompile(`(?m)^([a-z%][a-z/_%-]*):|^stage '([a-z-]+)'`)
	phony  = regexp.MustCompile(`(?m)^\.PHONY:.*$`)
)

// keepTargets removes all targets but keptTargets.
func (t tree) keepTargets() {
	for _, name := range []string{"Makefile", ".ci/run"} {
		f := t[name]
		paragraphs := slices.DeleteFunc(strings.Split(string(f.data), "\n\n"), func(paragraph string) bool {
			found := target.FindStringSubmatch(paragraph)
			return len(found) > 0 && !slices.Contains(keptTargets, found[1]+found[2])
		})
		text := phony.ReplaceAllStringFunc(strings.Join(paragraphs, "\n\n"), func(line string) string {
			return ".PHONY: " + strings.Join(slices.DeleteFunc(strings.Fields(line)[1:], func(name string) bool {
				return !slices.Contains(keptTargets, name)
			}), " ")
		})
		t[name] = file{f.mode, []byte(strings.TrimRight(text, "\n") + "\n")}
	}
}

// isDropped reports whether a pattern matches a file or one of its folders.
func isDropped(name string) bool {
	return slices.ContainsFunc(dropped, func(pattern string) bool {
		folder, isFolder := strings.CutSuffix(pattern, "/")
		part := name
		if elements := strings.Split(name, "/"); isFolder {
			part = path.Join(elements[:min(len(elements)-1, strings.Count(pattern, "/"))]...)
		}
		matches, _ := path.Match(folder, part) // the patterns are good
		return matches
	})
}

// edit replaces all matches of a pattern in a file, of which there is at least one.
type edit struct{ file, pattern, to string }

func (t tree) edit(edits []edit) error {
	for _, e := range edits {
		f, exists := t[e.file]
		pattern := regexp.MustCompile(e.pattern)
		if !exists || !pattern.Match(f.data) {
			return fmt.Errorf("%s does not exist, or contains nothing like %s", e.file, e.pattern)
		}
		f.data = pattern.ReplaceAll(f.data, []byte(e.to))
		t[e.file] = f
	}
	return nil
}

// codesOf returns the codes that a core file declares.
func codesOf(source []byte) []string {
	var codes []string
	for _, match := range regexp.MustCompile(`Code\w* += "(\w+)"|Code\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1) {
		codes = append(codes, string(match[1])+string(match[2]))
	}
	return codes
}
