package failover_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

const (
	unreached = "recovery ended before configured recovery target was reached"
	everyone  = "SELECT coalesce(string_agg(name, ' ' ORDER BY name), 'none') FROM entry"
	utc       = `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US "UTC"')`
)

// The cases follow the recipe of docs/operate.md, and leave out a step of it.
func TestRestore_NeedsTheWALThatACrashLeft(t *testing.T) {
	t.Parallel()
	backup := backedUp(t, map[string]string{})
	insert(t, backup.server, "ann")
	moment := query(t, backup.server, utc)
	insert(t, backup.server, "bob")
	backup.server.Kill()
	left := "cp " + backup.server.DataDir() + "/pg_wal/0* pg_wal/"

	for _, c := range []struct{ name, copied, until, want string }{
		{"everything", left, "", "ann bob"},
		{"a moment", left, moment, "ann"},
		{"a moment after the last commit", left, "2999-01-01 00:00:00 UTC", unreached},
		{"a moment from the archive alone", "true", moment, unreached},
		{"everything from the archive alone", "true", "", "none"},
	} {
		if got := backup.restored(t, c.copied, c.until); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRestore_FindsInTheArchiveWhatIsOlderThanArchiveTimeout(t *testing.T) {
	t.Parallel()
	backup := backedUp(t, map[string]string{"archive_timeout": "1s"})
	insert(t, backup.server, "ann")
	segment := query(t, backup.server, "SELECT pg_walfile_name(pg_current_wal_lsn())")
	testwait.Until(t, "the segment is archived", func() bool {
		return query(t, backup.server, "SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver") >= segment
	})
	backup.server.Kill()

	if got := backup.restored(t, "true", ""); got != "ann" {
		t.Errorf("restored from the archive alone: %s", got)
	}
}

// backup is a base backup, with the server that archives what happened since.
type backup struct {
	server *devpostgres.Server
	folder string
}

func backedUp(t *testing.T, settings map[string]string) backup {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "orders-backup-") //nolint:usetesting // the server may run as another user, who cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	settings["fsync"] = "off" // a crash of the server loses none of it
	settings["archive_mode"], settings["archive_command"] = "on", "cp %p "+folder+"/%f"
	b := backup{server: pgtest.StartCluster(t, devpostgres.Config{Settings: settings}), folder: folder}
	query(t, b.server, "CREATE TABLE entry (name text)")
	run(t, b.server, "/", "pg_basebackup", "--pgdata="+folder+"/base", "--dbname="+b.server.URL("postgres"), "--checkpoint=fast")
	return b
}

// restored restores a copy of the backup, and returns its entries, or why it ended.
func (b backup) restored(t *testing.T, copied, until string) string {
	t.Helper()
	settings := "restore_command = 'cp " + b.folder + "/%f %p'\n"
	if until != "" {
		settings += "recovery_target_time = '" + until + "'\nrecovery_target_action = 'promote'\n"
	}
	run(t, b.server, b.folder, "sh", "-c", "rm -rf copy && cp -a base copy && cd copy && "+copied+
		" && touch recovery.signal && cat >> postgresql.conf <<'END'\n"+settings+"END\n")
	var log bytes.Buffer
	server, err := devpostgres.Start(t.Context(), devpostgres.Config{
		DataDir: filepath.Join(b.folder, "copy"), Settings: map[string]string{"fsync": "off"}, Log: &log,
	})
	if err != nil {
		return reason(err.Error())
	}
	defer func() { _ = server.Stop() }()
	recovered := false
	testwait.Until(t, "the recovery ends", func() bool {
		select {
		case <-server.Done():
			return true
		default:
			still, err := ask(t.Context(), server, "SELECT pg_is_in_recovery()::text")
			recovered = err == nil && still == "false"
			return recovered
		}
	})
	if !recovered {
		return reason(log.String())
	}
	return query(t, server, everyone)
}

func reason(log string) string {
	if strings.Contains(log, unreached) {
		return unreached
	}
	return log
}

func run(t *testing.T, server *devpostgres.Server, dir, program string, args ...string) {
	t.Helper()
	cmd := server.Command(t.Context(), program, args...)
	if program == "sh" {
		cmd.Path, cmd.Err = "/bin/sh", nil // Command finds PostgreSQL's programs
	}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

func insert(t *testing.T, server *devpostgres.Server, name string) {
	t.Helper()
	query(t, server, "INSERT INTO entry VALUES ('"+name+"')")
}

func query(t *testing.T, server *devpostgres.Server, sql string) string {
	t.Helper()
	text, err := ask(t.Context(), server, sql)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ask returns the first value that a statement returns, if any.
func ask(ctx context.Context, server *devpostgres.Server, sql string) (text string, err error) {
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err == nil && len(results) > 0 && len(results[0].Rows) > 0 {
		text = string(results[0].Rows[0][0])
	}
	return text, err
}
