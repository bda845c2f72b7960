package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

// crashVariable names a data directory. If it is set, the test binary starts a server
// there, prints its process id, and waits to be killed.
const crashVariable = "ORDERS_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashVariable); dir != "" {
		startAndHang(dir)
	}
	os.Exit(m.Run())
}

func startAndHang(dir string) {
	pg, err := Start(context.Background(), Config{DataDir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println(pg.server.PID(), pg.runDir)
	<-pg.Done()
	os.Exit(1)
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	pg, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, pg) })
	return pg
}

func stop(t *testing.T, pg *Server) {
	t.Helper()
	if err := pg.Stop(); err != nil {
		t.Error(err)
	}
}

// newDataDir returns the name of a directory that the server's user can make. Nobody
// but us can reach those of t.TempDir.
func newDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "orders-postgres-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

// newFile makes an empty file and its directory.
func newFile(t *testing.T, name string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as another user")
	}
}

func connect(t *testing.T, pg *Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, pg *Server, statement string) {
	t.Helper()
	if _, err := connect(t, pg).Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query(t *testing.T, pg *Server, statement string) string {
	t.Helper()
	var value string
	if err := connect(t, pg).QueryRow(t.Context(), statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// wantError starts a server and compares the whole error, because developers read it.
func wantError(t *testing.T, cfg Config, want string) {
	t.Helper()
	pg, err := Start(t.Context(), cfg)
	if err == nil {
		stop(t, pg)
		t.Fatalf("no error, want %q", want)
	}
	if err.Error() != want {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
}

// Most of the time of these tests is initdb, so one server answers all that it can.
func TestServer_OnTemporaryData(t *testing.T) {
	t.Parallel()
	pg, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"listen_addresses": "", "unix_socket_permissions": "0700",
		"server_encoding": "UTF8", "lc_collate": utf8Locale,
	} {
		if got := query(t, pg, "SHOW "+name); got != value {
			t.Errorf("%s = %q, want %q", name, got, value)
		}
	}
	if dir := filepath.Dir(filepath.Dir(pg.DataDir())); hasRoomInMemory() && dir != memoryDir {
		t.Errorf("temporary data is below %s, want %s", dir, memoryDir)
	}
	for range 2 {
		if err := pg.EnsureDatabase(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
	}
	if out, err := pg.Command(t.Context(), "psql", "--dbname="+pg.URL("orders"), "--command=SELECT").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if group, err := syscall.Getpgid(pg.server.PID()); err != nil || group == syscall.Getpgrp() {
		t.Errorf("Ctrl-C would reach the server: it is in our process group, err = %v", err)
	}
	before := pg.server.PID()
	if err := pg.Restart(t.Context()); err != nil || pg.server.PID() == before {
		t.Errorf("the server was not restarted: %v", err)
	}
	stop(t, pg)
	if _, err := os.Stat(pg.runDir); !os.IsNotExist(err) {
		t.Errorf("%s still exists", pg.runDir)
	}
}

func TestStart_UsesSettingsAndListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{Port: testport.Free(t), Settings: map[string]string{"max_connections": "17", "fsync": "off"}})
	for statement, want := range map[string]string{
		"SHOW max_connections": "17", "SHOW fsync": "off",
		"SELECT host(inet_server_addr())": "127.0.0.1", "SHOW listen_addresses": "127.0.0.1",
	} {
		if got := query(t, pg, statement); got != want {
			t.Errorf("%s = %q, want %q", statement, got, want)
		}
	}
}

func TestData_SurvivesStopAndKill(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: newDataDir(t)}
	pg, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, pg, "CREATE TABLE kept AS SELECT 'first' AS value")
	stop(t, pg)
	lock := fmt.Sprintf("%d\n%s\n", os.Getpid(), cfg.DataDir) // as a killed server leaves one, and another process gets its id
	if err := os.WriteFile(lockFile(cfg.DataDir), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}

	pg = start(t, cfg)
	if hasRoomInMemory() && strings.HasPrefix(pg.DataDir(), memoryDir) {
		t.Errorf("data that is kept is in %s", pg.DataDir())
	}
	wantError(t, cfg, fmt.Sprintf("start postgres: data directory %s is in use by a running PostgreSQL server (process %d)",
		cfg.DataDir, pg.server.PID()))
	execute(t, pg, "UPDATE kept SET value = value || ' second'")
	url := pg.URL("postgres")
	pg.Kill()
	if err := pg.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, pg, "SELECT value FROM kept"); got != "first second" {
		t.Errorf("value = %q", got)
	}
	if pg.URL("postgres") != url {
		t.Error("Restart has changed the URL")
	}
}

func TestStart_CopiesATemplate(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	pg, err := Start(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, pg, "CREATE TABLE kept AS SELECT 'copied' AS value")
	stop(t, pg)
	for range 2 {
		copied := start(t, Config{Template: dir})
		if got := query(t, copied, "SELECT value FROM kept"); got != "copied" {
			t.Errorf("value = %q", got)
		}
		execute(t, copied, "DROP TABLE kept") // the next copy still has it
	}
}

func TestStart_ReportsWhyTheServerEnded(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{Settings: map[string]string{"max_connections": "many"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections": "many"`) {
		t.Errorf("err = %v", err)
	}
}

func TestStart_DoesNotReplaceForeignFiles(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	newFile(t, filepath.Join(dir, "thesis.txt"))
	wantError(t, Config{DataDir: dir},
		"start postgres: make room for the data: remove "+dir+": directory not empty")
}

func TestStart_RepeatsAnInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	newFile(t, filepath.Join(dir+".initdb", "PG_VERSION"))
	start(t, Config{DataDir: dir})
}

func TestStart_RejectsDataOfAnotherUser(t *testing.T) {
	needRoot(t)
	t.Parallel()
	cfg := Config{DataDir: newDataDir(t)}
	pg, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, pg)
	if err := os.Chown(cfg.DataDir, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	wantError(t, cfg, fmt.Sprintf("start postgres: data directory %s belongs to user id 4711 and the server would run as %s: "+
		"start as its owner, or remove the directory", cfg.DataDir, pg.account.name))
}

func TestStart_LinksUnreachableData(t *testing.T) {
	needRoot(t)
	t.Parallel()
	cfg := Config{DataDir: filepath.Join(t.TempDir(), "data")} // TempDir is closed to others
	pg, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(pg.DataDir()) })
	execute(t, pg, "CREATE TABLE kept AS SELECT 'linked' AS value")
	stop(t, pg)
	if target, err := os.Readlink(cfg.DataDir); err != nil || filepath.Dir(target) != sharedTemp || target != pg.DataDir() {
		t.Errorf("link to %q, err = %v; want one to %s", target, err, pg.DataDir())
	}
	if got := query(t, start(t, cfg), "SELECT value FROM kept"); got != "linked" {
		t.Errorf("value = %q", got)
	}
}

func TestServer_StopsWhenItsParentDies(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux stops a process when its parent dies")
	}
	dir := newDataDir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), crashVariable+"="+dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	server, runDir := 0, ""
	if _, err := fmt.Fscan(out, &server, &runDir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runDir) }) // the process that would remove it is killed
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // returns an error, because the process was killed
	testwait.Until(t, "the server has ended", func() bool { return syscall.Kill(server, 0) != nil })
	start(t, Config{DataDir: dir})
}

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
