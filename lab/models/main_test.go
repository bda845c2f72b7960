package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is where the repository begins.
const root = "../.."

// models are the files of the models.
var models = []string{"guard", "group", "card", "outbox"}

// correspondence is a place of a model and the line of code that it is modelled on.
type correspondence struct{ model, place, file, name, code string }

var (
	unitOf  = regexp.MustCompile(`^(?:inline|(?:active )?(?:\[\w+\] )?proctype) (\w+)\(`)
	labelOf = regexp.MustCompile(`^(?:end_)?(\w+):`)
	arrow   = regexp.MustCompile(`/\* -> (\S+): ([\w.]+): (.+?) \*/`)
)

// correspondences reads the comments with an arrow.
func correspondences(t *testing.T) []correspondence {
	t.Helper()
	var found []correspondence
	for _, model := range models {
		text := readFile(t, model+".pml")
		unit, place, arrows := "", "", 0
		for line := range strings.Lines(text) {
			if match := unitOf.FindStringSubmatch(line); match != nil {
				unit, place = match[1], match[1]
			} else if match := labelOf.FindStringSubmatch(line); len(match) > 0 && match[1] != "end" {
				place = unit + ": " + match[1]
			}
			for _, match := range arrow.FindAllStringSubmatch(line, -1) {
				found = append(found, correspondence{model, place, match[1], match[2], match[3]})
				arrows++
			}
		}
		if arrows < 8 || arrows != strings.Count(text, "/* ->") {
			t.Errorf("%s.pml has %d comments with an arrow, and %d can be read", model, strings.Count(text, "/* ->"), arrows)
		}
	}
	return found
}

// The code is what the models say it is: when a line that was modelled changes, this test
// fails, and somebody looks at the model.
func TestModels_NameLinesOfCode(t *testing.T) {
	t.Parallel()
	for _, c := range correspondences(t) {
		if !strings.Contains(declaration(t, c.file, c.name), c.code) {
			t.Errorf("%s.pml: %s is modelled on a line that %s in %s does not have: %s", c.model, c.place, c.name, c.file, c.code)
		}
	}
}

// declaration returns the text of a declaration of a Go file, or of a query of an SQL file.
func declaration(t *testing.T, file, name string) string {
	t.Helper()
	text := readFile(t, filepath.Join(root, file))
	if path.Ext(file) == ".sql" {
		_, query, _ := strings.Cut(text, "-- name: "+name+" ")
		query, _, _ = strings.Cut(query, "-- name: ")
		return query
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		if names(decl, name) {
			return text[decl.Pos()-1 : decl.End()-1]
		}
	}
	return ""
}

// names reports whether a declaration declares "function", "Type.method" or a constant.
func names(decl ast.Decl, name string) bool {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			return decl.Name.Name == name
		}
		receiver := decl.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if generic, ok := receiver.(*ast.IndexExpr); ok {
			receiver = generic.X
		}
		return fmt.Sprintf("%s.%s", receiver, decl.Name.Name) == name
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && value.Names[0].Name == name {
				return true
			}
		}
	}
	return false
}

func TestPage_NamesEveryCheck(t *testing.T) {
	t.Parallel()
	page := readFile(t, "README.md")
	for _, c := range checks {
		if !strings.Contains(page, c.what) {
			t.Errorf("README.md does not have the check %q", c)
		}
	}
}

// Every macro of a check is one of its model: a sabotage with a wrong name would not change
// anything.
func TestChecks_DefineMacrosOfTheirModel(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		text := readFile(t, c.model+".pml")
		if !c.sound && len(c.macros) == 0 {
			t.Errorf("%s: takes nothing away", c)
		}
		for _, macro := range c.macros {
			name, _, _ := strings.Cut(macro, "=")
			if !regexp.MustCompile(`(?m)^#if.*\b` + name + `\b`).MatchString(text) {
				t.Errorf("%s: the model does not know %s", c, name)
			}
		}
	}
}

const complete = `proctype Attempt
	state 261 -(tr  7)-> state 262  [id   0 tp   2] [A---G] m.pml:1 => holder = 255
	state 262 -(tr  8)-> state 263  [id   1 tp   2] [A---G] m.pml:2 => on = 0
	state  84 -(tr  9)-> state   0  [id   2 tp 3500] [----G] m.pml:3 => -end-
Full statespace search for:
State-vector 80 byte, depth reached 376, errors: 0
   257029 states, stored
Peg Counts (transitions executed):
    3	trans    8 m.pml:2
`

// A search that was not complete, or that reached too little, is no proof.
func TestJudge_RefusesWhatProvesNothing(t *testing.T) {
	t.Parallel()
	marked, plain := []string{"holder = NONE /* " + unlessSabotaged + " */"}, []string{"holder = NONE"}
	violated := strings.Replace(complete, "errors: 0", "errors: 1", 1) + "pan:1: assertion violated (x==1) (at depth 7)\n"
	for _, test := range []struct {
		name   string
		check  check
		output string
		lines  []string
		passes bool
	}{
		{"a complete search", check{sound: true, covers: true}, complete, marked, true},
		{"a violation", check{sound: true}, violated, marked, false},
		{"a step that nothing reaches", check{sound: true, covers: true}, complete, plain, false},
		{"a search that was cut off", check{sound: true}, complete + "error: max search depth too small\n", marked, false},
		{"too little memory", check{sound: true}, complete + "pan: reached -DMEMLIM bound\n", marked, false},
		{"steps not listed", check{sound: true, covers: true}, strings.ReplaceAll(complete, "-(tr", ""), marked, false},
		{"no output", check{sound: true}, "", marked, false},
		{"a sabotage that is found", check{}, violated, marked, true},
		{"a sabotage that is not found", check{}, complete, marked, false},
	} {
		if err := test.check.judge(read(test.output, test.lines)); (err == nil) != test.passes {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
