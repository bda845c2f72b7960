package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bareFolder holds what a service without the business has instead of it: one aggregate
// as an example. Go ignores folders whose names begin with an underscore.
const bareFolder = "internal/new/_bare/"

// bare returns the tree without the business: without the paths of dropped, with the
// files of bareFolder, and with edits.
func (t tree) bare() (tree, error) {
	codes := codesOf(t["internal/core/codes.go"].data)
	left := tree{}
	for name, f := range t {
		if !isDropped(name) {
			left[moved(name)] = f
		}
	}
	for name, f := range t {
		if target, ok := strings.CutPrefix(name, bareFolder); ok && target != fragment {
			left[target] = f
		}
	}
	if err := left.filterContract(t[bareFolder+fragment].data, codes); err != nil {
		return nil, err
	}
	if err := left.edit(append(edits, codeEdits(codes)...)); err != nil {
		return nil, err
	}
	if err := left.cut(cuts); err != nil {
		return nil, err
	}
	left.keepTargets()
	return left, left.removeUnusedImports()
}

// A target of the Makefile and a stage of .ci/run are paragraphs, with what explains them.
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

func isDropped(name string) bool {
	return slices.ContainsFunc(dropped, func(pattern string) bool {
		matches, _ := path.Match(pattern, name) // the test of the manifest finds a bad pattern
		return matches || (strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern))
	})
}

// moved returns where a file is in the copy.
func moved(name string) string {
	for from, to := range moves {
		if rest, ok := strings.CutPrefix(name, from); ok {
			return to + rest
		}
	}
	return name
}

// edit replaces all that a pattern finds in a file, which is something.
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

// cut removes declarations with their comments from Go files.
func (t tree) cut(cuts map[string]string) error {
	for name, list := range cuts {
		for declared := range strings.FieldsSeq(list) {
			data, err := withoutDeclaration(name, t[name].data, declared)
			if err != nil {
				return err
			}
			t[name] = file{t[name].mode, data}
		}
	}
	return nil
}

func withoutDeclaration(name string, source []byte, declared string) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		doc, declares := declarationOf(decl)
		if !slices.Contains(declares, declared) {
			continue
		}
		from, to := set.Position(decl.Pos()).Offset, set.Position(decl.End()).Offset
		if doc != nil {
			from = set.Position(doc.Pos()).Offset
		}
		return slices.Concat(source[:from], bytes.TrimLeft(source[to:], "\n")), nil
	}
	return nil, fmt.Errorf("%s does not declare %s", name, declared)
}

// declarationOf returns the comment and the names of a declaration.
func declarationOf(decl ast.Decl) (doc *ast.CommentGroup, names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Doc, []string{decl.Name.Name}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				names = append(names, spec.Names[0].Name)
			}
		}
		return decl.Doc, names
	}
	return nil, nil
}

// codesOf returns the codes that a file of the core declares.
func codesOf(source []byte) []string {
	var codes []string
	for _, match := range regexp.MustCompile(`Code\w* += "(\w+)"|Code\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1) {
		codes = append(codes, string(match[1])+string(match[2]))
	}
	return codes
}

// codeEdits take the titles of codes out of the adapter.
func codeEdits(codes []string) []edit {
	var made []edit
	for _, code := range codes {
		name := strings.ReplaceAll(code, "_", "")
		made = append(made, edit{"internal/adapters/in/http/problem.go", `(?mi)^\twire\.ProblemCode` + name + `: .*\n`, ""})
	}
	return made
}

// removeUnusedImports removes the imports that cuts and edits have left unused. An import without a name is used by the last element of its path.
func (t tree) removeUnusedImports() error {
	changed := slices.Collect(maps.Keys(cuts))
	for _, e := range edits {
		changed = append(changed, e.file)
	}
	for _, name := range changed {
		f := t[name]
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		data, err := withoutUnusedImports(name, f.data)
		if err != nil {
			return err
		}
		t[name] = file{f.mode, data}
	}
	return nil
}

func withoutUnusedImports(name string, source []byte) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{"_": true, ".": true}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				used[pkg.Name] = true
			}
		}
		return true
	})
	for _, spec := range slices.Backward(parsed.Imports) {
		if !used[importName(spec)] {
			from, to := set.Position(spec.Pos()).Offset, set.Position(spec.End()).Offset
			source = slices.Concat(source[:from], source[to:])
		}
	}
	return source, nil
}

var versionElement = regexp.MustCompile(`/v[0-9]+$|\.v[0-9]+$|\.go$`)

func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	importPath, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
	return path.Base(versionElement.ReplaceAllString(importPath, ""))
}
