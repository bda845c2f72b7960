package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// span is a part of a file.
type span struct{ from, to int }

// remove removes what is at the places, and files in which no declaration is left.
func (p *pruner) remove(places gone) {
	for name, positions := range places {
		var spans []span
		for _, pos := range positions {
			unit := unitAt(p.files[name], pos, isTest(name))
			if unit == nil {
				p.err = fmt.Errorf("%s cannot be removed", p.set.Position(pos))
				return
			}
			spans = append(spans, p.spanOf(p.files[name], unit))
		}
		f := p.tree[name]
		if f.data = without(f.data, spans); declaresNothing(f.data) {
			delete(p.tree, name)
		} else {
			p.tree[name] = f
		}
	}
}

// unitAt returns the smallest declaration, field or element at a position. In a test, it is
// the test, or the element of a list outside of functions.
func unitAt(f *ast.File, pos token.Pos, ofTest bool) ast.Node {
	var units []ast.Node
	ast.PreorderStack(f, nil, func(node ast.Node, parents []ast.Node) bool {
		contains := node.Pos() <= pos && pos < node.End()
		if contains && isUnit(node, parents) {
			units = append(units, node)
		}
		_, isFunc := node.(*ast.FuncDecl)
		return contains && (!isFunc || !ofTest)
	})
	switch {
	case len(units) == 0:
		return nil
	case ofTest:
		return units[min(1, len(units)-1)]
	}
	return units[len(units)-1]
}

func isUnit(node ast.Node, parents []ast.Node) bool {
	if len(parents) == 0 {
		return false
	}
	switch parent := parents[len(parents)-1].(type) {
	case *ast.File:
		group, isGroup := node.(*ast.GenDecl)
		return !isGroup || !group.Lparen.IsValid()
	case *ast.GenDecl:
		return parent.Lparen.IsValid() && len(parents) == 2
	case *ast.FieldList:
		switch parents[len(parents)-2].(type) {
		case *ast.StructType, *ast.InterfaceType:
			return true
		}
	case *ast.CompositeLit:
		return node != parent.Type
	}
	return false
}

// spanOf returns the place of a unit with its comments and its comma.
func (p *pruner) spanOf(f *ast.File, unit ast.Node) span {
	from, to := p.set.Position(unit.Pos()), p.set.Position(unit.End())
	source := p.tree[from.Filename].data
	s := span{from.Offset, to.Offset}
	if bytes.HasPrefix(source[s.to:], []byte(",")) {
		s.to++
	}
	for _, group := range f.Comments {
		begin, end := p.set.Position(group.Pos()), p.set.Position(group.End())
		switch {
		case end.Line == from.Line-1 && begin.Column == from.Column:
			s.from = begin.Offset
		case begin.Offset >= s.to && begin.Line == to.Line && len(bytes.TrimSpace(source[s.to:begin.Offset])) == 0:
			s.to = end.Offset
		}
	}
	return s
}

var emptyGroup = regexp.MustCompile(`(?m)^(import|const|var|type) \(\s*\)\n`)

// without returns a source without some parts of it, which may contain each other.
func without(source []byte, spans []span) []byte {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var left []byte
	at := 0
	for _, s := range spans {
		if s.from >= at {
			left, at = append(left, source[at:s.from]...), s.to
		}
	}
	return emptyGroup.ReplaceAll(append(left, source[at:]...), nil)
}

func declaresNothing(source []byte) bool {
	f, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	return err == nil && !slices.ContainsFunc(f.Decls, func(decl ast.Decl) bool {
		group, isGroup := decl.(*ast.GenDecl)
		return !isGroup || group.Tok != token.IMPORT
	})
}

// specs returns what a declaration declares, one by one.
func specs(decl ast.Decl) []ast.Node {
	group, isGroup := decl.(*ast.GenDecl)
	if !isGroup || !group.Lparen.IsValid() {
		return []ast.Node{decl}
	}
	var found []ast.Node
	for _, spec := range group.Specs {
		found = append(found, spec)
	}
	return found
}

// declared returns the name of a declaration; for a method, that of its type.
func declared(node ast.Node) string {
	switch node := node.(type) {
	case *ast.FuncDecl:
		if node.Recv != nil {
			return declared(node.Recv.List[0].Type)
		}
		return node.Name.Name
	case *ast.GenDecl:
		return declared(node.Specs[0])
	case *ast.TypeSpec:
		return node.Name.Name
	case *ast.ValueSpec:
		return node.Names[0].Name
	case *ast.StarExpr:
		return declared(node.X)
	case *ast.IndexExpr:
		return declared(node.X)
	case *ast.Ident:
		return node.Name
	}
	return ""
}

// methods returns the names of the methods that a node declares.
func methods(node ast.Node) (found []*ast.Ident) {
	switch node := node.(type) {
	case *ast.FuncDecl:
		if node.Recv != nil {
			found = append(found, node.Name)
		}
	case *ast.InterfaceType:
		for _, method := range node.Methods.List {
			found = append(found, method.Names...)
		}
	}
	return found
}

// selectors returns the names of the methods and fields that a tree's Go files use.
func (t tree) selectors() map[string]bool {
	found := map[string]bool{}
	for name, f := range t {
		if path.Ext(name) != ".go" {
			continue
		}
		parsed, _ := parser.ParseFile(token.NewFileSet(), name, f.data, parser.SkipObjectResolution) // prune reports errors
		ast.Inspect(parsed, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				found[selector.Sel.Name] = true
			}
			return true
		})
	}
	return found
}

// dropOrphans removes the files that belong to Go code that is gone, such as what it embeds:
// those in or below a folder that has lost all Go files, and those with a name that its Go
// files mentioned before.
func (t tree) dropOrphans(before tree) {
	code, left := before.codeByFolder(), t.codeByFolder()
	for name := range t {
		folder := path.Dir(name)
		for folder != "." && code[folder] == "" {
			folder = path.Dir(folder)
		}
		base := path.Base(name)
		if code[folder] != "" && left[folder] == "" || strings.Contains(code[folder], base) && !strings.Contains(left[folder], base) {
			delete(t, name)
		}
	}
}

func (t tree) codeByFolder() map[string]string {
	found := map[string]string{}
	for name, f := range t {
		if path.Ext(name) == ".go" && !declaresNothing(f.data) {
			found[path.Dir(name)] += string(f.data)
		}
	}
	return found
}
