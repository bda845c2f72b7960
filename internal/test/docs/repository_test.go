package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/config"
)

// repository is what exists, and what documents may therefore name.
type repository struct {
	// files holds all files and folders, relative to the root.
	files names
	// words holds every word of the sources, and source their text.
	words  names
	source string
	// packages holds the declared names of each package name. members holds the methods and
	// fields of each type, whose name is in lower case: `tx.Outbox` means a variable.
	packages, members map[string]names
	// places holds the files of the service that declare a name, in lower case: with its
	// package, its type or alone. testFiles holds those of each test.
	places, testFiles map[string][]string
	targets, settings names
	routes            []route
	// statuses holds the status of each problem code.
	statuses map[string]int
}

// route is an operation of the contract.
type route struct {
	method string
	path   *regexp.Regexp
}

// theRepository reads the repository once.
var theRepository = sync.OnceValues(readRepository)

func mustReadRepository(t *testing.T) *repository {
	t.Helper()
	r, err := theRepository()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readRepository() (*repository, error) {
	r := &repository{
		files: names{}, words: names{}, packages: map[string]names{},
		members: map[string]names{}, places: map[string][]string{}, testFiles: map[string][]string{}, targets: names{}, settings: names{}, statuses: map[string]int{},
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		name, option, _ := strings.Cut(field.Tag.Get("env"), ",")
		r.settings.add(name)
		if option == "unset" { // a secret, which may also be in a file
			r.settings.add(name + "_FILE")
		}
	}
	if err := r.readFiles(); err != nil {
		return nil, err
	}
	return r, r.readContract()
}

func (r *repository) readFiles() error {
	var source strings.Builder
	err := walk(func(name string) error {
		r.files.add(name)
		if !isSource(name) {
			return nil
		}
		text := pageAt(name).Text
		source.WriteString(text)
		return r.readSource(name, text)
	})
	r.source = source.String()
	r.words.add(word.FindAllString(r.source, -1)...)
	for _, handled := range handled.FindAllStringSubmatch(r.source, -1) {
		r.routes = append(r.routes, route{handled[1], pathExpression(handled[2])})
	}
	return err
}

// handled are the routes of listeners other than the public one, which have no contract. One
// without a method serves all.
var handled = regexp.MustCompile(`Handle(?:Func)?\("(?:([A-Z]+) )?(/[^"]*)"`)

var parameter = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

// pathExpression returns what the paths of a pattern match.
func pathExpression(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$")
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// isSource reports whether a file says what exists. A text about it does not, nor do the
// made-up documents of this package.
func isSource(name string) bool {
	if name == "internal/test/docs/broken_test.go" {
		return false
	}
	known := []string{".go", ".sql", ".tmpl", ".pml", ".yaml", ".yml", ".toml", ".ts", ".js", ".mjs", ".json", ".html", ".css", ".mod"}
	return slices.Contains(known, path.Ext(name)) || path.Base(name) == "Makefile" || strings.HasPrefix(name, ".ci/")
}

// makefiles maps the files with targets to the flag of make that selects the file.
var makefiles = map[string]string{"Makefile": "", ".ci/go.mk": "", "lab/Makefile": "-C lab "}

var target = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)

func (r *repository) readSource(name, text string) error {
	if in, isMakefile := makefiles[name]; isMakefile {
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			r.targets.add(in + match[1])
		}
	}
	if path.Ext(name) != ".go" {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		r.readDecl(name, file.Name.Name, decl)
	}
	return nil
}

func (r *repository) readDecl(file, pkg string, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv != nil {
			r.declare(file, typeName(decl.Recv.List[0].Type), decl.Name.Name)
			return
		}
		r.declareTop(file, pkg, decl.Name.Name)
		if isTest(decl.Name.Name) && strings.HasSuffix(file, "_test.go") {
			r.testFiles[decl.Name.Name] = append(r.testFiles[decl.Name.Name], file)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			r.readSpec(file, pkg, spec)
		}
	}
}

func (r *repository) readSpec(file, pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			r.declareTop(file, pkg, name.Name)
		}
	case *ast.TypeSpec:
		r.declareTop(file, pkg, spec.Name.Name)
		var fields *ast.FieldList
		switch typ := spec.Type.(type) {
		case *ast.StructType:
			fields = typ.Fields
		case *ast.InterfaceType:
			fields = typ.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				r.declare(file, spec.Name.Name, name.Name)
			}
			if len(field.Names) == 0 {
				r.declare(file, spec.Name.Name, typeName(field.Type))
			}
		}
	}
}

// declareTop records a name that a package declares.
func (r *repository) declareTop(file, pkg, name string) {
	in(r.packages, strings.TrimSuffix(pkg, "_test")).add(name)
	r.place(file, name, pkg+"."+name)
}

// declare records a method or field of a type.
func (r *repository) declare(file, typ, name string) {
	in(r.members, strings.ToLower(typ)).add(name)
	r.place(file, typ+"."+name)
}

// place records a file of the service under each name that means a declaration in it.
func (r *repository) place(file string, all ...string) {
	if isService(file) {
		for _, name := range all {
			name = strings.ToLower(name)
			r.places[name] = append(r.places[name], file)
		}
	}
}

// isService reports whether a file belongs to the service: neither to its tests, copies and
// development servers, nor to the lab, the clients and the examples.
func isService(file string) bool {
	others := []string{"internal/test/", "internal/dev/", "internal/new/", "bench/", "lab/", "kit/client", "kit/giftcards/", "cmd/orders-"}
	return !strings.HasSuffix(file, "_test.go") && !slices.ContainsFunc(others, func(folder string) bool {
		return strings.HasPrefix(file, folder)
	})
}

func in(all map[string]names, key string) names {
	if all[key] == nil {
		all[key] = names{}
	}
	return all[key]
}

// typeName returns the name of a type without its package, its pointer and its parameters.
func typeName(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return typeName(typ.X)
	case *ast.SelectorExpr:
		return typ.Sel.Name
	case *ast.IndexExpr:
		return typeName(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return ""
}

func isTest(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Fuzz", "Benchmark", "Example"}, func(kind string) bool {
		return strings.HasPrefix(name, kind) && name != kind
	})
}

func (r *repository) readContract() error {
	var contract struct {
		Paths      map[string]map[string]yaml.Node
		Components struct {
			Examples map[string]struct {
				Value struct {
					Code   string
					Status any
				}
			}
		}
	}
	if err := yaml.Unmarshal(openapi.OpenAPI, &contract); err != nil {
		return err
	}
	for pattern, operations := range contract.Paths {
		for method := range maps.Keys(operations) {
			r.routes = append(r.routes, route{strings.ToUpper(method), pathExpression(pattern)})
		}
	}
	for _, example := range contract.Components.Examples {
		if status, isNumber := example.Value.Status.(int); isNumber && example.Value.Code != "" {
			r.statuses[example.Value.Code] = status
		}
	}
	return nil
}

// serves reports whether something serves a path, with the method if that is not empty.
func (r *repository) serves(method, target string) bool {
	return slices.ContainsFunc(r.routes, func(rt route) bool {
		return (method == "" || rt.method == "" || rt.method == method) && rt.path.MatchString(target)
	})
}

// hasFile reports whether a path exists, as it is written or relative to a folder.
func (r *repository) hasFile(name string, folders ...string) bool {
	name = strings.TrimSuffix(name, "/")
	return slices.ContainsFunc(append(folders, "."), func(folder string) bool {
		pattern := path.Join(folder, name)
		if !strings.Contains(pattern, "*") {
			return r.files[pattern]
		}
		for file := range r.files {
			if match, err := path.Match(pattern, file); err == nil && match {
				return true
			}
		}
		return false
	})
}
