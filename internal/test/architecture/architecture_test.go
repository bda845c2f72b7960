// Package architecture asserts which package may depend on which.
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
	module     = "example.com/orders/"
	core       = module + "internal/core"
	adapters   = module + "internal/adapters"
	httpAPI    = adapters + "/in/http"
	kitGuard   = module + "kit/guard"
	outbox     = module + "internal/outbox"
	panics     = module + "internal/observe/panics"
	tracing    = module + "internal/observe/tracing"
	strictJSON = module + "internal/strictjson"
	devServers = module + "internal/dev"
	testHelp   = module + "internal/test"
	commands   = module + "cmd"

	// outside is the pattern of every package that is not in the standard library.
	outside = "*"
)

// A rule says what packages must not depend on, directly or through others. Patterns
// are import paths; one that ends in "/..." includes what is below.
type rule struct {
	name      string
	packages  string
	forbidden []string
	except    []string // what is allowed although a forbidden pattern matches it
}

// areas are the parts of the core, and which of the others each may know:
// core ← order ← payment, core ← customer, core ← audit, core ← webhook.
var areas = map[string][]string{
	"order":    {},
	"payment":  {"order"},
	"customer": {},
	"audit":    {},
	"webhook":  {},
}

// httpRooms are the packages below the HTTP adapter, and which of the others each may know,
// directly or through others. None may know the adapter itself.
var httpRooms = map[string][]string{
	"wire":       {},
	"cardnumber": {},
	"cors":       {},
	"docs":       {},
	"etag":       {},
	"reference":  {},
	"resources":  {},
	"token":      {},
	"problem":    {"cardnumber", "wire"},
	"limits":     {"problem", "cardnumber", "wire"},
	"contract":   {"problem", "cardnumber", "reference", "wire"},
}

var rules = slices.Concat(partRules(core, areas), partRules(httpAPI, httpRooms, httpAPI), guardRules(), []rule{
	{
		name:     "the shared part of the core knows none of its users",
		packages: core, forbidden: []string{core + "/..."},
	},
	{
		name:     "the core knows the standard library and decimals",
		packages: core + "/...", forbidden: []string{outside},
		except: []string{core + "/...", "github.com/govalues/decimal"},
	},
	{
		name:     "the core knows no transport and no database",
		packages: core + "/...",
		// The package database/sql/driver comes with the decimals.
		forbidden: []string{"net/http/...", "encoding/json/...", "database/sql"},
	},
	{
		name:     "the guard knows pgx, and nothing of the service",
		packages: kitGuard + "/...", forbidden: []string{outside},
		except: []string{kitGuard + "/...", "github.com/jackc/...", "golang.org/x/..."},
	},
	{
		name:     "the relay knows no broker, no database and nothing else of the service",
		packages: outbox + "/...",
		forbidden: []string{
			module + "...", "net/http/...", "github.com/jackc/pgx/v5/...", "github.com/nats-io/nats.go/...",
		},
		except: []string{outbox + "/...", panics},
	},
	{
		name:     "adapters know the core, the guard, the outbox and the contract",
		packages: adapters + "/...", forbidden: []string{module + "..."},
		except: []string{
			adapters + "/...", core + "/...", kitGuard + "/...", outbox + "/...", panics, strictJSON, tracing, module + "api",
		},
	},
	{
		name:     "adapters do not know who gets their spans",
		packages: adapters + "/...", forbidden: []string{"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/..."},
	},
	{
		name:     "tracing knows its API and nothing of the service",
		packages: tracing, forbidden: []string{module + "...", "go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/..."},
	},
	{
		name:     "development servers know nothing of the service",
		packages: devServers + "/...", forbidden: []string{module + "..."},
		except: []string{devServers + "/..."},
	},
	{
		name:     "the in-memory store knows no adapter",
		packages: testHelp + "/memory/...", forbidden: []string{adapters + "/..."},
	},
	{
		name:     "the service contains no development server, page or token",
		packages: commands + "/orders/...",
		forbidden: []string{
			devServers + "/...", commands + "/orders-dev/...", "github.com/nats-io/nats-server/v2/...",
		},
	},
	{
		name:     "commands contain no test help",
		packages: commands + "/...", forbidden: []string{testHelp + "/...", "testing"},
	},
})

// guardRules forbid the packages of the guard all modules, except the store for pgx.
func guardRules() (made []rule) {
	for _, part := range []string{"", "/guardtest", "/httpguard", "/internal/postgres", "/routetest/...", "/sqlstore"} {
		made = append(made, rule{
			name:     "kit/guard" + part + " knows the standard library",
			packages: kitGuard + part, forbidden: []string{outside}, except: []string{kitGuard + "/..."},
		})
	}
	return made
}

// partRules forbids each part of a package the others that it may not know, and more.
func partRules(parent string, parts map[string][]string, more ...string) []rule {
	var made []rule
	for part, known := range parts {
		r := rule{name: part + " knows only what it may", packages: parent + "/" + part + "/...", forbidden: slices.Clone(more)}
		for other := range parts {
			if other != part && !slices.Contains(known, other) {
				r.forbidden = append(r.forbidden, parent+"/"+other+"/...")
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

// matches reports whether path fits pattern. Only paths of the standard library have no
// dot in their first element.
func matches(pattern, path string) bool {
	if pattern == outside {
		first, _, _ := strings.Cut(path, "/")
		return strings.Contains(first, ".")
	}
	root, below := strings.CutSuffix(pattern, "...")
	return path == strings.TrimSuffix(root, "/") || below && strings.HasPrefix(path, root)
}

// forbids reports whether a package must not depend on the package to.
func (r rule) forbids(to string) bool {
	fits := func(pattern string) bool { return matches(pattern, to) }
	return slices.ContainsFunc(r.forbidden, fits) && !slices.ContainsFunc(r.except, fits)
}

// violations lists every forbidden dependency as "from → to". A package may always know
// itself.
func (r rule) violations(g graph) []string {
	var found []string
	for _, from := range g.matching(r.packages) {
		for _, to := range g[from] {
			if to != from && r.forbids(to) {
				found = append(found, from+" → "+to)
			}
		}
	}
	return found
}

// adapterOf returns the adapter that a package belongs to, internal/adapters/in/http
// for all below it, or "" for a package of no adapter.
func adapterOf(path string) string {
	below, inside := strings.CutPrefix(path, adapters+"/")
	parts := strings.SplitN(below, "/", 3)
	if !inside || len(parts) < 2 {
		return ""
	}
	return adapters + "/" + parts[0] + "/" + parts[1]
}

// joining lists the packages that know an adapter beside their own, or two when they
// belong to none. Commands do so, and tests of the whole service.
func joining(g graph) []string {
	var found []string
	for _, from := range g.matching(module + "...") {
		known := map[string]bool{adapterOf(from): true}
		for _, to := range g[from] {
			known[adapterOf(to)] = true
		}
		delete(known, "")
		mayJoin := matches(commands+"/...", from) || matches(testHelp+"/...", from)
		if len(known) > 1 && !mayJoin {
			found = append(found, from)
		}
	}
	return found
}

// load returns the packages of the module and all that they depend on, without tests,
// as the go command lists them.
func load(t *testing.T) graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Deps", "./...", kitGuard+"/...")
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

func TestArchitecture(t *testing.T) {
	g := load(t)
	for _, r := range rules {
		for _, violation := range r.violations(g) {
			t.Errorf("%s: %s", r.name, violation)
		}
	}
	for _, path := range joining(g) {
		t.Errorf("%s joins adapters: only commands may", path)
	}
}

// A rename must not switch a rule off without anybody noticing: each pattern has to
// match a package.
func TestRules_MatchPackages(t *testing.T) {
	g := load(t)
	for _, r := range rules {
		for _, pattern := range slices.Concat([]string{r.packages}, r.forbidden, r.except) {
			if len(g.matching(pattern)) == 0 {
				t.Errorf("%s: no package matches %s", r.name, pattern)
			}
		}
	}
	for parent, parts := range map[string]map[string][]string{core: areas, httpAPI: httpRooms} {
		for _, path := range g.matching(parent + "/...") {
			part, _, _ := strings.Cut(strings.TrimPrefix(path, parent+"/"), "/")
			if _, ruled := parts[part]; !ruled && path != parent {
				t.Errorf("%s has no rule about what it may know", path)
			}
		}
	}
	for _, side := range []string{"/in/...", "/out/..."} {
		if len(g.matching(adapters+side)) == 0 {
			t.Errorf("no adapter is below %s", adapters+side)
		}
	}
}

// example returns a made-up package that a pattern matches.
func example(pattern string) string {
	if pattern == outside {
		return "example.net/library"
	}
	return strings.Replace(pattern, "...", "below", 1)
}

// Each forbidden dependency of each rule is put into a made-up program, where exactly
// that one has to be found.
func TestRules_FindEachForbiddenDependency(t *testing.T) {
	for _, r := range rules {
		for _, pattern := range r.forbidden {
			from, to := example(strings.TrimSuffix(r.packages, "/...")), example(pattern)
			g := graph{from: {"context", to, from}, to: nil}
			if diff := cmp.Diff([]string{from + " → " + to}, r.violations(g)); diff != "" {
				t.Errorf("%s: %s", r.name, diff)
			}
		}
	}
}

func TestJoining_FindsPackagesThatKnowTwoAdapters(t *testing.T) {
	const http, postgres = adapters + "/in/http", adapters + "/out/postgres"
	g := graph{
		commands + "/orders/app":       {http, postgres},
		testHelp + "/e2e":              {http, postgres},
		module + "internal/fine":       {http, http + "/wire"},
		module + "internal/wrong":      {http, postgres},
		http:                           {http + "/wire", core},
		postgres:                       {http + "/wire"},
		postgres + "/dbsqlc":           {},
		adapters + "/in/jobs/internal": {postgres + "/dbsqlc"},
	}
	want := []string{adapters + "/in/jobs/internal", postgres, module + "internal/wrong"}
	if diff := cmp.Diff(want, joining(g)); diff != "" {
		t.Error(diff)
	}
}

// The adapters decide how a value looks on the wire.
func TestCore_HasNoJSONTags(t *testing.T) {
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
		t.Errorf("read %d files, err = %v", files, err)
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

func TestTaggedForJSON_FindsNestedFields(t *testing.T) {
	const source = "package p; type t struct { A int `json:\"a\"`; B int `db:\"b\"`; C struct { E `json:\"-\"` } }"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`json:"a"`, `json:"-"`}, taggedForJSON(file)); diff != "" {
		t.Error(diff)
	}
}
