package architecture

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pgtxFolder has the one way to commit: a COMMIT is never cancelled, and a lost answer
// leaves its outcome unknown.
const pgtxFolder = "internal/adapters/out/postgres/pgtx/"

// opensTransactions are the functions and methods of pgx and database/sql that begin or
// end a transaction.
var opensTransactions = []string{"Begin", "BeginFunc", "BeginTx", "BeginTxFunc", "Commit"}

// otherCommits are the files outside pgtx that commit, with the reason. River commits as
// well: it begins and ends jobs, which only repeats a job if a failover undoes it.
var otherCommits = map[string]string{
	"migrations/repair.go":                 "rolls back",
	"kit/guard/internal/postgres/check.go": "reads",
	"kit/guard/internal/postgres/clean.go": "a lost clean-up is repeated",
	"kit/guard/internal/postgres/store.go": "a failed COMMIT is an unknown outcome, which a replay confirms",
	"kit/auth19/subjects/river/main.go":    "a server under test, as River documents it",
	"kit/guard/pgxstore/pgxstore.go":       "begins for the store above",
	"kit/guard/sqlstore/sqlstore.go":       "begins and commits for the store above",
	"internal/dev/fakestripe/call.go":      "a development server",
	"internal/dev/fakestripe/dashboard.go": "a development server",
	"internal/dev/fakestripe/dispute.go":   "a development server",
	"internal/dev/fakestripe/intent.go":    "a development server",
	"internal/dev/fakestripe/late.go":      "a development server",
	"internal/dev/fakestripe/server.go":    "a development server",
}

// commits returns the calls in a file that begin or commit a transaction.
func (f sourceFile) commits() []string {
	var found []string
	ast.Inspect(f.ast, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(opensTransactions, selector.Sel.Name) {
				found = append(found, selector.Sel.Name)
			}
		}
		return true
	})
	return found
}

// ofTests reports whether a file is no part of the service and its examples.
func (f sourceFile) ofTests() bool {
	return strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "internal/test/") || strings.HasPrefix(f.name, "lab/")
}

func TestSource_EverybodyCommitsThroughPgtx(t *testing.T) {
	t.Parallel()
	unused := len(otherCommits)
	for _, f := range sourceFiles(t) {
		found := f.commits()
		if len(found) == 0 || f.ofTests() || strings.HasPrefix(f.name, pgtxFolder) {
			continue
		}
		if _, allowed := otherCommits[f.name]; !allowed {
			t.Errorf("%s calls %v: commit with pgtx.DB.Write, or list the file with its reason", f.name, found)
		} else {
			unused--
		}
	}
	if unused != 0 {
		t.Errorf("%d of the listed files do not commit", unused)
	}
}

func TestCommits_FindsEachWayToCommit(t *testing.T) {
	t.Parallel()
	f := mustParse(t, "made_up.go", "package p\nfunc f() { pgx.BeginFunc(ctx, s.pool(), nil); pgx.BeginTxFunc(ctx); tx, _ := db.BeginTx(ctx)\n"+
		"defer func() { tx.Commit(ctx) }(); conn.Begin(ctx); p.Committed(); var begin func(); begin() }\n")
	if diff := cmp.Diff([]string{"BeginFunc", "BeginTxFunc", "BeginTx", "Commit", "Begin"}, f.commits()); diff != "" {
		t.Error(diff)
	}
}
