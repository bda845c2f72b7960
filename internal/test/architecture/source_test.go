package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxTestLines is the length of the longest test function. A test that does not fit is
// several tests, or hides its subject behind its set-up.
const maxTestLines = 60

// jsonLibrary is on its way into the standard library, so that few files use it.
const jsonLibrary = "github.com/go-json-experiment/json"

// sourceFile is a parsed Go file of the repository.
type sourceFile struct {
	name string
	ast  *ast.File
	set  *token.FileSet
}

// sourceFiles parses the Go files of the repository.
func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	for _, name := range textFiles(t) {
		if text := mustRead(t, name); filepath.Ext(name) == ".go" {
			files = append(files, mustParse(t, name, text))
		}
	}
	return files
}

func mustParse(t *testing.T, name, text string) sourceFile {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return sourceFile{name, file, set}
}

// longTests returns the names of test functions that are too long.
func (f sourceFile) longTests() []string {
	var found []string
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		if f.set.Position(fn.End()).Line-f.set.Position(fn.Pos()).Line+1 > maxTestLines {
			found = append(found, fn.Name.Name)
		}
	}
	return found
}

// embedsT reports whether a struct of the file embeds the t of a test.
func (f sourceFile) embedsT() bool {
	found := false
	ast.Inspect(f.ast, func(node ast.Node) bool {
		if structure, ok := node.(*ast.StructType); ok {
			for _, field := range structure.Fields.List {
				found = found || len(field.Names) == 0 && isT(field.Type)
			}
		}
		return true
	})
	return found
}

// isT reports whether a type is *testing.T or testing.TB.
func isT(typ ast.Expr) bool {
	if star, isPointer := typ.(*ast.StarExpr); isPointer {
		typ = star.X
	}
	selector, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "testing" && (selector.Sel.Name == "T" || selector.Sel.Name == "TB")
}

func TestSource_TestsAreReadable(t *testing.T) {
	t.Parallel()
	for _, f := range sourceFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			for _, name := range f.longTests() {
				t.Errorf("%s: %s has more than %d lines", f.name, name, maxTestLines)
			}
		}
		if f.embedsT() {
			t.Errorf("%s: a struct embeds t; pass it as an argument", f.name)
		}
	}
}

func TestSource_TwoFilesUseTheJSONLibrary(t *testing.T) {
	t.Parallel()
	var users []string
	for _, f := range sourceFiles(t) {
		for _, spec := range f.ast.Imports {
			if strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), jsonLibrary) {
				users = append(users, f.name)
				break
			}
		}
	}
	want := []string{"internal/adapters/in/http/contract/read.go", "internal/strictjson/strictjson.go"}
	if diff := cmp.Diff(want, users); diff != "" {
		t.Errorf("files that import %s (-want +got):\n%s", jsonLibrary, diff)
	}
}

func TestSource_FaultsAreFound(t *testing.T) {
	t.Parallel()
	long := "func TestLong(t *testing.T) {" + strings.Repeat("\n", maxTestLines) + "}\n"
	f := mustParse(t, "made_up_test.go", "package p\n"+long+"func TestShort(t *testing.T) {}\n"+
		"type fixture struct { *testing.T }\n")
	if diff := cmp.Diff([]string{"TestLong"}, f.longTests()); diff != "" {
		t.Error(diff)
	}
	if !f.embedsT() {
		t.Error("the embedded t was not found")
	}
	if mustParse(t, "fine_test.go", "package p\nfunc helper(t *testing.T, tb testing.TB) {}\ntype f struct { run func(*testing.T) }\n").embedsT() {
		t.Error("an argument was taken for an embedded t")
	}
}
