package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

// sabotage takes one protection of the guard away.
type sabotage struct {
	// caughtBy is the case of routetest that must fail.
	caughtBy string
	edits    []edit
}

// edit replaces a text that is once in a file. In new, SABOTAGED reports whether this
// sabotage is the one that was asked for.
type edit struct{ file, old, new string }

// sabotages are the mistakes that people make with a guard.
var sabotages = map[string]sabotage{
	"the scope is the bare key": {"a key belongs to its principal", []edit{{
		"guard.go", "NewScope(customer)", `NewScope(pick(SABOTAGED, "", customer))`,
	}}},
	"only the body is hashed": {"another request with the key is refused", []edit{{
		"guard.go", "idempotency.NewContent(r.Method, r.URL, canonical), err",
		"pick(SABOTAGED, idempotency.Content{Body: body}, idempotency.NewContent(r.Method, r.URL, canonical)), err",
	}}},
	"the body is hashed as it came": {"a retry may be spelled differently", []edit{{
		"guard.go", "canonical, err := json.Marshal(cmd)",
		"canonical, err := json.Marshal(cmd)\n	canonical = pick(SABOTAGED, body, canonical)",
	}}},
	"the key is taken as it came": {"a request without a usable key is refused", []edit{{
		"guard.go", "		if err != nil {\n			failKey(w, err)",
		"		if SABOTAGED {\n key, err = r.Header.Get(`Idempotency-Key`), nil\n }\n		if err != nil {\n			failKey(w, err)",
	}}},
	"the key is claimed before the body is checked": {"a request that cannot be read leaves its key", []edit{{
		"guard.go", "cmd, err = decode(r, body); err != nil", "cmd, err = decode(r, body); err != nil && !SABOTAGED",
	}}},
	"the body has no bound": {"a request that cannot be read leaves its key", []edit{{
		"guard.go", "http.MaxBytesReader(w, r.Body, maxBody)", "http.MaxBytesReader(w, r.Body, pick[int64](SABOTAGED, 1<<30, maxBody))",
	}}},
	"a stored response needs no token": {"a stranger gets no stored response", []edit{{
		"guard.go", "if !ok {", "if SABOTAGED && !ok {\n customer, ok = `alice`, true\n}\n if !ok {",
	}}},
	"refusals are not kept": {"a refusal is kept", []edit{{
		"guard.go", "errors.AsType[refusal](err); ok {", "errors.AsType[refusal](err); ok && !SABOTAGED {",
	}}},
	"failures are kept": {"a failed command keeps nothing", []edit{{
		"guard.go", "	if err != nil {\n		return idempotency.Result{}, err", `	if SABOTAGED && err != nil {
			return idempotency.Result{Response: problem(500, "internal"), Refused: true, TTL: refusalTTL}, nil
		}
		if err != nil {
			return idempotency.Result{}, err`,
	}}},
	"a header is set that is not stored": {"a retry gets the first response", []edit{{
		"guard.go", "if replayed {", "if SABOTAGED && !replayed {\n w.Header().Set(`Set-Cookie`, `session=1`)\n }\n if replayed {",
	}}},
	"a replay is encoded anew": {"a retry gets the first response", []edit{{
		"guard.go", "if replayed {", "if SABOTAGED && replayed {\n rec.Body = append([]byte{' '}, rec.Body...)\n }\n if replayed {",
	}}},
	"a hang-up stops the command": {"a client that hangs up does not stop a command", []edit{{
		"guard.go", "resultOf(run(ctx,", "resultOf(run(pick(SABOTAGED, context.WithValue(r.Context(), txKey{}, ctx.Value(txKey{})), ctx),",
	}}},
	"the command writes beside its transaction": {"a failed record keeps nothing", []edit{
		{"main.go", "decodeRedeem, redeem)", `decodeRedeem, func(ctx context.Context, customer, key string, cmd redeemCommand) (any, error) {
			return redeem(context.WithValue(ctx, besideKey{}, database(pool)), customer, key, cmd)
		})`},
		{"main.go", "tx := txOf(ctx)", "tx := pick[database](SABOTAGED, ctx.Value(besideKey{}).(database), txOf(ctx))"},
	}},
	"the record is stored after the commit": {"a failed record keeps nothing", []edit{{
		"store.go", "if err := insert(ctx, tx, rec); ", `if SABOTAGED {
			return rec, false, errors.Join(tx.Commit(ctx), pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return insert(ctx, tx, rec) }))
		}
		if err := insert(ctx, tx, rec); `,
	}}},
	"the key is looked up and not claimed": {"many requests at once have one effect", []edit{{
		"store.go", "!found && !claimed {", "!found && !claimed && !SABOTAGED {",
	}}},
	"there is no second line of defence": {"after expiry the second line of defence answers", []edit{{
		"main.go", "	if !errors.Is(err, pgx.ErrNoRows) { // redeemed", "	if !SABOTAGED && !errors.Is(err, pgx.ErrNoRows) { // redeemed",
	}}},
}

// help is added to the sabotaged service. One binary contains all sabotages, so that it is
// built once; a variable says which of them works.
const help = `package main

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func sabotaged(name string) bool { return os.Getenv("GIFTCARDS_SABOTAGE") == name }

func pick[T any](bad bool, sabotaged, sound T) T {
	if bad {
		return sabotaged
	}
	return sound
}

type besideKey struct{}

type database interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}
`

// TestRoute_FindsSabotage proves that the suite is worth copying: it fails for a service
// whose guard is wrong, with the case that says what is wrong.
func TestRoute_FindsSabotage(t *testing.T) {
	t.Parallel()
	pgtest.New(t) // the cluster
	binary := buildSabotaged(t)
	run := func(t *testing.T, name, pattern string) (output string, err error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "-test.run", pattern, "-test.v")
		cmd.Env = append(os.Environ(), "GIFTCARDS_SABOTAGE="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, s := range sabotages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subtest := strings.ReplaceAll(s.caughtBy, " ", "_")
			out, err := run(t, name, "^TestRoute$/^"+regexp.QuoteMeta(subtest)+"$")
			if err == nil || !strings.Contains(out, "--- FAIL: TestRoute/"+subtest+" ") {
				t.Errorf("the case %q did not fail: %v\n%s", s.caughtBy, err, out)
			}
			t.Log(out)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "none", "^TestRoute$"); err != nil {
			t.Errorf("without sabotage the suite fails: %v\n%s", err, out)
		}
	})
}

// buildSabotaged returns the test binary of this package with every sabotage in it.
func buildSabotaged(t *testing.T) string {
	t.Helper()
	dir, files := t.TempDir(), map[string]string{"sabotaged.go": help}
	for name, s := range sabotages {
		for _, e := range s.edits {
			if files[e.file] == "" {
				files[e.file] = string(mustRead(t, e.file))
			}
			if strings.Count(files[e.file], e.old) != 1 {
				t.Fatalf("%s: %q must be once in %s", name, e.old, e.file)
			}
			edited := strings.ReplaceAll(e.new, "SABOTAGED", "sabotaged(`"+name+"`)")
			files[e.file] = strings.Replace(files[e.file], e.old, edited, 1)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(here, name)] = filepath.Join(dir, name)
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "overlay.json"), overlay)
	binary := filepath.Join(dir, "sabotaged.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
