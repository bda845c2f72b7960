package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// library is a package that is copied completely, whatever uses it.
const library = "internal/idempotency/"

// gone are the places of Go code that has to go, by file.
type gone map[string][]token.Pos

// pruner removes the Go code that cannot live without what is gone.
type pruner struct {
	tree   tree
	module string
	// kept are the files that replace the business. Nothing in them is removed.
	kept map[string]bool
	// before holds the names of the methods and fields in use before anything was gone.
	before map[string]bool
	// others opens the compiled packages of other modules.
	others importer.Lookup
	err    error
	round
}

// round is what one type check of the tree has found.
type round struct {
	set      *token.FileSet
	importer types.Importer
	checked  map[string]*types.Package
	files    map[string]*ast.File
	// uses holds, for each declaration of a package, what it uses.
	uses map[types.Object][]types.Object
}

// prune removes what does not compile and what nothing uses, until nothing is left of it. A
// test goes as a whole, other code by declarations, fields and elements.
func (p *pruner) prune() error {
	for {
		p.round = round{
			set: token.NewFileSet(), checked: map[string]*types.Package{},
			files: map[string]*ast.File{}, uses: map[types.Object][]types.Object{},
		}
		p.importer = importer.ForCompiler(p.set, "gc", p.others)
		for name := range p.tree {
			if path.Ext(name) == ".go" {
				p.check(path.Dir(name), false)
				p.check(path.Dir(name), true)
			}
		}
		unused := p.unused()
		if p.err != nil || len(unused) == 0 {
			return p.err
		}
		p.remove(unused)
	}
}

// compiled returns how the packages of other modules are read that a tree imports.
func (t tree) compiled(root, module string) (importer.Lookup, error) {
	args := []string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}
	for name, f := range t {
		if path.Ext(name) != ".go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, f.data, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
			if !strings.HasPrefix(imported, module+"/") && imported != "unsafe" {
				args = append(args, imported)
			}
		}
	}
	slices.Sort(args[4:])
	list := exec.CommandContext(context.Background(), "go", slices.Compact(args)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the imported packages: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		imported, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[imported] = export
	}
	return func(imported string) (io.ReadCloser, error) { return os.Open(exports[imported]) }, nil
}

// Import returns a checked package.
func (p *pruner) Import(imported string) (*types.Package, error) {
	dir, isOwn := strings.CutPrefix(imported, p.module+"/")
	if !isOwn {
		return p.importer.Import(imported)
	}
	if pkg := p.check(dir, false); pkg != nil {
		return pkg, nil
	}
	return nil, errors.New("the package is gone")
}

// check removes from a package, or from its external test, what does not compile.
func (p *pruner) check(dir string, external bool) *types.Package {
	key := dir
	if external {
		key += "_test"
	}
	if pkg, done := p.checked[key]; done {
		return pkg
	}
	p.checked[key] = nil
	for p.err == nil {
		files := p.parse(dir, external)
		if len(files) == 0 {
			return nil
		}
		broken, info := gone{}, &types.Info{Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: p, Error: func(err error) {
			if found, ok := errors.AsType[types.Error](err); ok {
				p.add(broken, found.Pos)
			}
		}}
		pkg, err := conf.Check(p.module+"/"+key, p.set, files, info)
		if err == nil {
			p.checked[key] = pkg
			p.record(files, pkg, info)
			return pkg
		}
		if len(broken) == 0 {
			p.err = err
		}
		p.remove(broken)
	}
	return nil
}

// add adds a place, unless it is in a file that is kept.
func (p *pruner) add(to gone, pos token.Pos) {
	if name := p.fileAt(pos); !p.kept[name] && !strings.HasPrefix(name, library) {
		to[name] = append(to[name], pos)
	}
}

func (p *pruner) fileAt(pos token.Pos) string { return p.set.Position(pos).Filename }

// parse returns the Go files in a folder: those of the package, or those of its external test.
func (p *pruner) parse(dir string, external bool) (found []*ast.File) {
	platform := build.Default
	platform.OpenFile = func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(p.tree[name].data)), nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.tree)) {
		if path.Dir(name) != dir || path.Ext(name) != ".go" {
			continue
		}
		if matches, err := platform.MatchFile(dir, path.Base(name)); err != nil || !matches {
			continue
		}
		f := p.parseFile(name)
		if f != nil && strings.HasSuffix(f.Name.Name, "_test") == external {
			p.files[name] = f
			found = append(found, f)
		}
	}
	return found
}

func (p *pruner) parseFile(name string) *ast.File {
	f, err := parser.ParseFile(p.set, name, p.tree[name].data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		p.err = err
		return nil
	}
	return f
}

// record notes what each declaration uses. A method belongs to its type.
func (p *pruner) record(files []*ast.File, pkg *types.Package, info *types.Info) {
	for _, f := range files {
		for _, decl := range f.Decls {
			for _, spec := range specs(decl) {
				owner := pkg.Scope().Lookup(declared(spec))
				if owner == nil { // init, _ or an import
					owner = types.NewFunc(spec.Pos(), pkg, cmp.Or(declared(spec), "_"), nil)
				}
				p.uses[owner] = append(p.uses[owner], usedBy(spec, info)...)
			}
		}
	}
}

func usedBy(node ast.Node, info *types.Info) (used []types.Object) {
	for part := range ast.Preorder(node) {
		if ident, ok := part.(*ast.Ident); ok && info.Uses[ident] != nil {
			used = append(used, info.Uses[ident])
		}
	}
	return used
}

var (
	program  = regexp.MustCompile(`^(main|init)$`)
	test     = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)([^M]|M[^a]|$)`)
	mainTest = regexp.MustCompile(`^(init|TestMain)$`)
)

// begins reports whether a declaration is where a program or a test begins. Tests of one
// package do not justify its production code; tests of the whole service do.
func (p *pruner) begins(object types.Object, ofPackages bool) bool {
	name := p.fileAt(object.Pos())
	if strings.HasSuffix(name, "_test.go") {
		return test.MatchString(object.Name()) && (ofPackages || strings.HasPrefix(name, "internal/test/"))
	}
	return p.kept[name] || strings.HasPrefix(name, library) || program.MatchString(object.Name())
}

// unused returns production code that no program reaches, test code that no test reaches, and
// methods that were in use.
func (p *pruner) unused() gone {
	unused, reached := gone{}, map[types.Object]bool{}
	for _, ofPackages := range []bool{false, true} {
		p.reachAll(ofPackages, reached)
		for object := range p.uses {
			if !reached[object] && object.Name() != "_" && isTest(p.fileAt(object.Pos())) == ofPackages {
				p.add(unused, object.Pos())
			}
		}
	}
	p.addMethods(unused)
	return unused
}

// reachAll adds what begins, and what it uses. What prepares tests has to have some.
func (p *pruner) reachAll(ofPackages bool, reached map[types.Object]bool) {
	tested := map[*types.Package]bool{}
	for object := range p.uses {
		if p.begins(object, ofPackages) {
			tested[object.Pkg()] = true
			p.reach(object, reached)
		}
	}
	for object := range p.uses {
		if mainTest.MatchString(object.Name()) && tested[object.Pkg()] {
			p.reach(object, reached)
		}
	}
}

// reach adds an object and all that it uses.
func (p *pruner) reach(object types.Object, reached map[types.Object]bool) {
	if reached[object] {
		return
	}
	reached[object] = true
	for _, used := range p.uses[object] {
		p.reach(used, reached)
	}
}

func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.Contains(name, "test/")
}

// addMethods adds methods that were in use, and are no more.
func (p *pruner) addMethods(unused gone) {
	used := p.tree.selectors()
	for name, f := range p.files {
		if _, exists := p.tree[name]; !exists {
			continue
		}
		ast.Inspect(f, func(node ast.Node) bool {
			for _, method := range methods(node) {
				if p.before[method.Name] && !used[method.Name] {
					p.add(unused, method.Pos())
				}
			}
			return true
		})
	}
}

// removeTests removes the tests in cut, and those with a text that matches.
func (p *pruner) removeTests(matches func(file, text string) bool) {
	p.set, p.files = token.NewFileSet(), map[string]*ast.File{}
	naming := gone{}
	for name := range p.tree {
		if path.Ext(name) != ".go" || !isTest(name) {
			continue
		}
		p.files[name] = p.parseFile(name)
		ast.Inspect(p.files[name], func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.FuncDecl:
				if slices.Contains(cut, node.Name.Name) {
					p.add(naming, node.Pos())
				}
			case *ast.BasicLit:
				if matches(name, node.Value) {
					p.add(naming, node.Pos())
				}
			}
			return true
		})
	}
	p.remove(naming)
}
