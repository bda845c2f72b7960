package upgrade_test

import (
	"io/fs"
	"testing"

	"example.com/orders/internal/observe/version"
	"example.com/orders/lab/upgrade"
	"example.com/orders/migrations"
)

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
