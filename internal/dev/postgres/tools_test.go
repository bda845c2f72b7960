package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// fakeTools makes a directory like /usr/lib/postgresql/15/bin with empty programs.
func fakeTools(t *testing.T, root, version string, programs ...string) string {
	t.Helper()
	dir := filepath.Join(root, version, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindTools_ReturnsTheNewestCompleteVersion(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := t.TempDir()
	if _, err := findTools("", filepath.Join(root, "*", "bin")); !errors.Is(err, errNoPostgres) {
		t.Errorf("without any: %v", err)
	}
	fakeTools(t, root, "9.6", "initdb", "postgres")
	want := fakeTools(t, root, "15", "initdb", "postgres")
	fakeTools(t, root, "16", "psql") // a client without a server
	got, err := findTools("", filepath.Join(root, "*", "bin"))
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestStart_NamesAnEmptyBinDir(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PG_BINDIR", dir)
	wantError(t, Config{}, "start postgres: no initdb and postgres in PG_BINDIR="+dir+
		": unset it, or set it to the directory that contains them")
}
