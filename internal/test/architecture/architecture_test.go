// Package architecture holds no code: its tests assert which package may know which.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module   = "example.com/orders/"
	core     = module + "internal/core"
	adapters = module + "internal/adapters"
	guard    = module + "internal/idempotency"
	outbox   = module + "internal/outbox"
	commands = module + "cmd"
)

// A rule says what packages may not depend on, by themselves or through others. Patterns are import paths; one that ends
// in "/..." includes what is below.
type rule struct {
	name      string
	packages  string
	forbidden []string
}

// areas are the parts of the core, and which of the others each may know: core ← order ← payment, core ← the rest.
var areas = map[string][]string{
	"order":    {},
	"payment":  {"order"},
	"customer": {},
	"audit":    {},
}

var rules = append(areaRules(), []rule{
	{"the vocabulary knows none of its users", core, []string{core + "/..."}},
	{"the core knows nothing outside", core + "/...", []string{
		adapters + "/...", guard + "/...", commands + "/...",
		"net/http/...", "encoding/json/...", "database/sql", // its part "driver" comes with the decimals
		"github.com/jackc/pgx/v5/...", "github.com/go-chi/chi/v5/...", "github.com/rs/zerolog/...",
	}},
	{"the guard's vocabulary knows no adapter", guard + "/...", []string{adapters + "/...", commands + "/..."}},
	{"adapters do not know who puts them together", adapters + "/...", []string{commands + "/..."}},
	{"the relay knows no adapter", outbox + "/...", []string{adapters + "/...", commands + "/..."}},
	{"the service holds no development server and no test help", commands + "/orders/...", []string{
		module + "internal/dev/...", module + "internal/test/...", "testing", "github.com/nats-io/nats-server/v2/...",
	}},
	{"adapters know no development servers and no test help", adapters + "/...", []string{module + "internal/dev/...", module + "internal/test/..."}},
	{"no test help is in a command", commands + "/...", []string{module + "internal/test/...", "testing"}},
}...)

// areaRules forbids each area the others that it may not know.
func areaRules() []rule {
	var made []rule
	for area, known := range areas {
		r := rule{name: area + " keeps to its arrows", packages: core + "/" + area + "/..."}
		for other := range areas {
			if other != area && !slices.Contains(known, other) {
				r.forbidden = append(r.forbidden, core+"/"+other+"/...")
			}
		}
		made = append(made, r)
	}
	return made
}

// graph maps each package of the build to all that it depends on.
type graph map[string][]string

func (g graph) matching(pattern string) []string {
	var found []string
	for path := range g {
		if matches(pattern, path) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

func matches(pattern, path string) bool {
	root, below := strings.CutSuffix(pattern, "/...")
	return path == root || below && strings.HasPrefix(path, root+"/")
}

// violations lists every forbidden dependency as "from → to". A package may always know itself.
func (r rule) violations(g graph) []string {
	var found []string
	for _, from := range g.matching(r.packages) {
		for _, to := range g[from] {
			forbidden := func(pattern string) bool { return matches(pattern, to) }
			if to != from && slices.ContainsFunc(r.forbidden, forbidden) {
				found = append(found, from+" → "+to)
			}
		}
	}
	return found
}

// adapterOf returns the adapter that a package belongs to: internal/adapters/in/http for all below it.
func adapterOf(path string) string {
	rest, inside := strings.CutPrefix(path, adapters+"/")
	parts := strings.SplitN(rest, "/", 3)
	if !inside || len(parts) < 2 {
		return ""
	}
	return adapters + "/" + parts[0] + "/" + parts[1]
}

// joined lists the packages outside cmd that know an adapter beside their own, or two when they belong to none.
func joined(g graph) []string {
	var found []string
	for _, from := range g.matching(module + "...") {
		known := map[string]bool{adapterOf(from): true}
		for _, to := range g[from] {
			known[adapterOf(to)] = true
		}
		delete(known, "")
		if len(known) > 1 && !matches(commands+"/...", from) {
			found = append(found, from)
		}
	}
	return found
}

// load asks the go command for the packages of the module and all they need, without tests.
func load(t *testing.T) graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	g := graph{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		g[p.ImportPath] = p.Deps
	}
}

const root = "../../.."

func TestArrows(t *testing.T) {
	g := load(t)
	for _, r := range rules {
		for _, violation := range r.violations(g) {
			t.Errorf("%s: %s", r.name, violation)
		}
	}
	for _, path := range joined(g) {
		t.Errorf("%s joins adapters: only cmd does", path)
	}
}

// TestRulesLookAtSomething keeps a rename from silently switching a rule off: each pattern has to match a package.
func TestRulesLookAtSomething(t *testing.T) {
	g := load(t)
	for _, r := range rules {
		for _, pattern := range append([]string{r.packages}, r.forbidden...) {
			if len(g.matching(pattern)) == 0 {
				t.Errorf("%s: no package matches %s", r.name, pattern)
			}
		}
	}
	for _, path := range g.matching(core + "/...") {
		area, _, _ := strings.Cut(strings.TrimPrefix(path, core+"/"), "/")
		if _, ruled := areas[area]; !ruled && path != core {
			t.Errorf("%s is in no area of the core", path)
		}
	}
	for _, side := range []string{"/in/...", "/out/..."} {
		if len(g.matching(adapters+side)) == 0 {
			t.Errorf("no adapter is below %s", adapters+side)
		}
	}
}

// TestRulesCanFail breaks every arrow of every rule in a made-up program and expects exactly that to be found.
func TestRulesCanFail(t *testing.T) {
	for _, r := range rules {
		for _, pattern := range r.forbidden {
			from := strings.TrimSuffix(r.packages, "/...")
			to := strings.Replace(pattern, "/...", "/below", 1)
			g := graph{from: {"context", to, from}, to: nil}
			if diff := cmp.Diff([]string{from + " → " + to}, r.violations(g)); diff != "" {
				t.Errorf("%s: %s", r.name, diff)
			}
		}
	}
}

func TestJoinedAdaptersAreFound(t *testing.T) {
	const http, postgres = adapters + "/in/http", adapters + "/out/postgres"
	g := graph{
		commands + "/orders":           {http, postgres},
		module + "internal/fine":       {http, http + "/wire"},
		module + "internal/wrong":      {http, postgres},
		http:                           {http + "/wire", core},
		postgres:                       {http + "/wire"},
		postgres + "/dbsqlc":           {},
		adapters + "/in/jobs/internal": {postgres + "/dbsqlc"},
	}
	want := []string{adapters + "/in/jobs/internal", postgres, module + "internal/wrong"}
	if diff := cmp.Diff(want, joined(g)); diff != "" {
		t.Error(diff)
	}
}

// TestCoreHasNoWireShapes looks for `json:` tags: the wire's shapes are the adapters' own.
func TestCoreHasNoWireShapes(t *testing.T) {
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "internal", "core"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, tag := range taggedForJSON(file) {
			t.Errorf("%s: the tag %s", path, tag)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("looked at %d files, err = %v", files, err)
	}
}

func taggedForJSON(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		field, ok := node.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if _, tagged := reflect.StructTag(tag).Lookup("json"); err == nil && tagged {
			found = append(found, tag)
		}
		return true
	})
	return found
}

func TestJSONTagsAreFound(t *testing.T) {
	const source = "package p; type t struct { A int `json:\"a\"`; B int `db:\"b\"`; C struct { E `json:\"-\"` } }"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`json:"a"`, `json:"-"`}, taggedForJSON(file)); diff != "" {
		t.Error(diff)
	}
}
