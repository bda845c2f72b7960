package upgrade_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/observe/version"
	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/upgrade"
	"example.com/orders/migrations"
)

// readRelease returns what the last release has left.
func readRelease(t *testing.T) (first line, responses []response, rows []row) {
	t.Helper()
	file, err := os.Open(releaseFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	decoder := json.NewDecoder(file)
	if err := decoder.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if first.Version != version.Number {
		t.Fatalf("%s is of version %s, want %s: CONTRIBUTING.md says how to renew it", releaseFile, first.Version, version.Number)
	}
	for {
		var l line
		err := decoder.Decode(&l)
		switch {
		case errors.Is(err, io.EOF):
			return first, responses, rows
		case err != nil:
			t.Fatal(err)
		case l.Response != nil:
			responses = append(responses, *l.Response)
		case l.Row != nil:
			rows = append(rows, *l.Row)
		}
	}
}

// load replaces the rows of a database that has the schema of the release.
func load(t *testing.T, conn *pgx.Conn, rows []row) {
	t.Helper()
	execute := func(sql string, args ...any) {
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	execute("SET session_replication_role = replica") // in no order that foreign keys ask for
	cleared := map[string]bool{}
	for _, r := range rows {
		if !cleared[r.Table] {
			execute("DELETE FROM " + r.Table)
			cleared[r.Table] = true
		}
		execute("INSERT INTO "+r.Table+" OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(NULL::"+r.Table+", $1)).*", string(r.Values))
	}
	execute("SET session_replication_role = origin")
	execute("SELECT setval(seqrelid::regclass, 1000000) FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE c.relnamespace = 'public'::regnamespace")
}

// released returns an environment whose database the release has left.
func released(t *testing.T) (env *e2e.Env, schema uint, responses []response) {
	t.Helper()
	env = e2e.NewEnv(t)
	first, responses, rows := readRelease(t)
	schema = first.Schema
	for {
		at, _, err := migrations.Version(env.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		if at == schema {
			break
		}
		if err := migrations.Down(t.Context(), env.DatabaseURL); err != nil {
			t.Fatal(err)
		}
	}
	load(t, connect(t, env.DatabaseURL), rows)
	return env, schema, responses
}

// The migrations after the last release find its schema and its rows.
func TestMigrations_LetTheVersionBeforeWork(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	env, schema, _ := released(t)
	conn := connect(t, env.DatabaseURL)
	for _, file := range files[schema:] {
		text, err := migrations.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found, err := upgrade.Check(t.Context(), conn, string(text), version.Number)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(found) > 0 {
			t.Errorf("migrations/%s: CONTRIBUTING.md says how to write it: %q", file, found)
		}
	}
}

// upgraded returns an environment whose database the release has left and this version has
// migrated.
func upgraded(t *testing.T) (*e2e.Env, []response) {
	t.Helper()
	env, _, responses := released(t)
	if err := migrations.Up(t.Context(), env.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Grant(t.Context(), env.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	return env, responses
}

// saidTooLittle are requests of the version before whose body did not say what they asked
// for. They are refused, and their callers look the key up.
var saidTooLittle = map[string]bool{"refundPayment in full": true}

func wantLookedUp(t *testing.T, s *e2e.Service, stored response) {
	t.Helper()
	token := s.Token(t, stored.Subject, stored.Role)
	s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", e2e.Call{
		Method: stored.Method, Path: stored.Path, Body: stored.Body, Key: stored.Key, Token: token,
	})
	record := e2e.Want[map[string]any](t, s, http.StatusOK, e2e.Get(token, "/idempotency-keys/"+stored.Key))
	if record["state"] != "completed" || record["status"] != float64(stored.Status) {
		t.Errorf("%s: the key is %v, want completed with %d", stored.Name, record, stored.Status)
	}
}

// hyphenOrDigit matches what is spelled differently in the path of a retry.
var hyphenOrDigit = regexp.MustCompile(`[-0-9]`)

// A response is replayed as it was sent, whatever this version would send. When its record
// has expired, the second line of defence makes it from the rows that the release wrote. It
// has null in the members that the release did not know, or what oldRows says.
func TestReplay_IsThatOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	env, responses := upgraded(t)
	env.Exec(t, "UPDATE idempotency_record SET expires_at = now() + interval '1 hour'")
	here, there := env.StartReplica(t), env.StartReplica(t) // there has not seen the records
	for _, stored := range responses {
		if saidTooLittle[stored.Name] {
			wantLookedUp(t, here, stored)
			continue
		}
		wantStored(t, here, stored, "true")
		stored.Path = hyphenOrDigit.ReplaceAllStringFunc(stored.Path, func(char string) string { return fmt.Sprintf("%%%X", char) })
		wantStored(t, here, stored, "true")
	}
	env.Exec(t, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
	for _, stored := range responses {
		if !stored.Refused && !saidTooLittle[stored.Name] { // a refusal has no effect to make it from
			wantStored(t, there, stored, "")
		}
	}
}

// wantStored sends a request of the release and checks that its response has not changed.
func wantStored(t *testing.T, s *e2e.Service, stored response, replayed string) {
	t.Helper()
	contract := contracttest.Reporter(t)
	if replayed != "" {
		contract = olderContract(func(text string) { t.Error(text) })
	}
	got, err := s.Try(t.Context(), contract, e2e.Call{
		Method: stored.Method, Path: stored.Path, Body: stored.Body, Key: stored.Key, Token: s.Token(t, stored.Subject, stored.Role),
	})
	if err != nil {
		t.Fatal(err)
	}
	is := stored
	is.Status, is.ResponseBody = got.Status, string(got.Body)
	if replayed == "" {
		is.ResponseBody = withoutNew(t, is.ResponseBody, stored.ResponseBody)
	}
	is.ContentType, is.Location = got.Header.Get("Content-Type"), got.Header.Get("Location")
	if is != stored {
		t.Errorf("%s, Idempotent-Replayed %q:\n got %d %s %s %s\nwant %d %s %s %s", stored.Name, replayed,
			is.Status, is.ContentType, is.Location, is.ResponseBody, stored.Status, stored.ContentType, stored.Location, stored.ResponseBody)
	}
	if result, header := got.Header.Get("Idempotency-Result"), got.Header.Get("Idempotent-Replayed"); result != "reused" || header != replayed {
		t.Errorf("%s: Idempotency-Result %q, Idempotent-Replayed %q; want reused and %q", stored.Name, result, header, replayed)
	}
}

// olderContract reports how a replayed response contradicts the contract, except for new
// members: docs/use.md says that clients treat them as optional.
type olderContract func(text string)

var onlyMissing = regexp.MustCompile(`(?s)validation failed with '[^\n]*'(\n *- at '[^\n]*': missing propert[^\n]*)+$`)

// Helper implements [contracttest.Reporter].
func (report olderContract) Helper() {}

// Errorf implements [contracttest.Reporter].
func (report olderContract) Errorf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !onlyMissing.MatchString(text) {
		report(text)
	}
}

// oldRows are the values of new members that are never null, in rows of the release.
var oldRows = map[string]string{"made_by": `"api"`}

// withoutNew returns a response body without the members that the old body does not have,
// and that are null or have the value of old rows.
func withoutNew(t *testing.T, body, old string) string {
	t.Helper()
	var members, known map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(body), &members), json.Unmarshal([]byte(old), &known)); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(members, func(name string, value json.RawMessage) bool {
		_, isKnown := known[name]
		return !isKnown && (string(value) == "null" || string(value) == oldRows[name])
	})
	left, err := json.Marshal(members) // sorted, as the service does
	if err != nil {
		t.Fatal(err)
	}
	return string(left)
}
