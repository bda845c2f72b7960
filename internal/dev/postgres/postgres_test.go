package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
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

func TestStart_IsDurableAndPrivate(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{})
	want := map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"listen_addresses": "", "unix_socket_permissions": "0700",
		"server_encoding": "UTF8", "lc_collate": utf8Locale,
	}
	for name, value := range want {
		if got := query(t, pg, "SHOW "+name); got != value {
			t.Errorf("%s = %q, want %q", name, got, value)
		}
	}
}

func TestStart_KeepsOnlyTemporaryDataInMemory(t *testing.T) {
	t.Parallel()
	if !hasRoomInMemory() {
		t.Skip("no room in memory")
	}
	temporary := start(t, Config{})
	if dir := filepath.Dir(filepath.Dir(temporary.DataDir())); dir != memoryDir {
		t.Errorf("temporary data is below %s, want %s", dir, memoryDir)
	}
	kept := start(t, Config{DataDir: newDataDir(t)})
	if strings.HasPrefix(kept.DataDir(), memoryDir) {
		t.Errorf("data that is kept is in %s", kept.DataDir())
	}
}

func TestStart_UsesSettings(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{Settings: map[string]string{"max_connections": "17", "fsync": "off"}})
	if got := query(t, pg, "SHOW max_connections") + query(t, pg, "SHOW fsync"); got != "17off" {
		t.Errorf("settings = %q", got)
	}
}

func TestStart_ListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{Port: testport.Free(t)})
	if got := query(t, pg, "SELECT host(inet_server_addr())"); got != "127.0.0.1" {
		t.Errorf("connected to %s", got)
	}
	if got := query(t, pg, "SHOW listen_addresses"); got != "127.0.0.1" {
		t.Errorf("listen_addresses = %s", got)
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

	pg = start(t, cfg)
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

func TestRestart_StopsARunningServer(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{})
	before := query(t, pg, "SELECT pg_postmaster_start_time()::text")
	if err := pg.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if query(t, pg, "SELECT pg_postmaster_start_time()::text") == before {
		t.Error("the server was not restarted")
	}
}

func TestStop_RemovesTemporaryFiles(t *testing.T) {
	t.Parallel()
	pg, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, pg)
	if _, err := os.Stat(pg.runDir); !os.IsNotExist(err) {
		t.Errorf("%s still exists", pg.runDir)
	}
}

func TestEnsureDatabase_MayBeCalledTwice(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{})
	for range 2 {
		if err := pg.EnsureDatabase(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), pg.URL("orders"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
}

func TestCommand_ReachesTheServer(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{})
	out, err := pg.Command(t.Context(), "pg_isready", "--dbname="+pg.URL("postgres")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestStart_RejectsDataInUse(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: newDataDir(t)}
	pg := start(t, cfg)
	wantError(t, cfg, fmt.Sprintf("start postgres: data directory %s is in use by a running PostgreSQL server (process %d)",
		cfg.DataDir, pg.server.PID()))
}

func TestStart_RemovesALockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: newDataDir(t)}
	pg, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, pg)
	lock := fmt.Sprintf("%d\n%s\n", os.Getpid(), cfg.DataDir)
	if err := os.WriteFile(lockFile(cfg.DataDir), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, cfg)
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
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, Config{DataDir: dir},
		"start postgres: make room for the data: remove "+dir+": directory not empty")
}

func TestStart_RepeatsAnInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	if err := os.Mkdir(dir+".initdb", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir+".initdb", "PG_VERSION"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
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

// Runs a test of this file in a process that is not root.
func TestStart_WorksForAnOrdinaryUser(t *testing.T) {
	needRoot(t)
	t.Parallel()
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	acc, err := accountOf(nobody, true)
	if err != nil {
		t.Fatal(err)
	}
	binary := newDataDir(t)
	copyFile(t, os.Args[0], binary)
	cmd := exec.Command(binary, "-test.run=^TestData_SurvivesStopAndKill$", "-test.v")
	cmd.Dir = "/"
	cmd.SysProcAttr = acc.attributes()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestData_SurvivesStopAndKill") {
		t.Errorf("%v: %s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
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

func TestServer_HasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	pg := start(t, Config{})
	group, err := syscall.Getpgid(pg.server.PID())
	if err != nil {
		t.Fatal(err)
	}
	if group == syscall.Getpgrp() {
		t.Error("Ctrl-C would reach the server: it is in our process group")
	}
}
