package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	"example.com/orders/cmd/orders-dev/play"
	devpostgres "example.com/orders/internal/dev/postgres"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/internal/version"
)

func TestRun_ReportsWrongArgumentsInOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const hint = "orders-dev help lists commands and flags"
	for _, c := range []struct{ args, want string }{
		{"fly", `unexpected argument "fly": ` + hint},
		{"--fly", "flag provided but not defined: -fly: " + hint},
		{"--dir", "flag needs an argument: -dir: " + hint},
		{"--dir x more", `unexpected argument "more": ` + hint},
		{"version now", `unexpected argument "now": usage: orders-dev version`},
		{"token", tokenUsage},
		{"token --sub alice", tokenUsage},
		{"token --role customer", tokenUsage},
		{"token --fly", "flag provided but not defined: -fly: " + tokenUsage},
		{"token --sub alice --role customer more", `unexpected argument "more": ` + tokenUsage},
		{"token --sub alice --role customer,king", `unknown role "king": a role is customer, seller, admin or system`},
		{"token --sub alice --role customer --dir " + dir, "no signing key in " + dir + ": run orders-dev once in this folder"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), strings.Fields(c.args), nil, &out)
			if err == nil || err.Error() != c.want {
				t.Errorf("err = %v\nwant  %s", err, c.want)
			}
			if out.Len() > 0 {
				t.Errorf("it also prints %q", out.String())
			}
		})
	}
}

func TestHelp_PrintsTheUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"help": help, "-h": help, "--help": help, "--dir x -h": help, "version --help": help,
		"token -h": tokenHelp, "token --sub alice --help": tokenHelp,
		"version": "orders-dev " + version.Get().String() + "\n",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), nil, &out); err != nil || out.String() != want {
			t.Errorf("orders-dev %s: err = %v, output %q", args, err, out.String())
		}
	}
}

func TestDev_PrintsWhereEverythingIs(t *testing.T) {
	t.Parallel()
	d := startDev(t, newDir(t))
	defer d.stop(t)
	printed := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(d.printed)
		if found == nil {
			t.Fatalf("%s is not in\n%s", pattern, d.printed)
		}
		return found[1]
	}

	conn, err := pgx.Connect(t.Context(), printed(`psql '(.*)'`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SELECT FROM idempotency_record"); err != nil {
		t.Error(err)
	}
	events, err := nats.Connect(printed(`Events: (\S+),`))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	admin := &running{url: printed(`(http\S+)/metrics`)}
	if status := admin.get(t, "/metrics", ""); status != http.StatusOK {
		t.Errorf("metrics: status %d", status)
	}
}

func TestDev_LeadsBrowsersToTheReference(t *testing.T) {
	t.Parallel()
	pages := withPages(http.NotFoundHandler(), play.New(play.Config{}), new(faults), nil)
	for method, want := range map[string]string{http.MethodGet: "302 /docs", http.MethodPost: "404 "} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if got := fmt.Sprint(w.Code, " ", w.Header().Get("Location")); got != want {
			t.Errorf("%s / gets %q, want %q", method, got, want)
		}
	}
}

func TestDev_ReportsAPortInUseBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	addr := taken.Addr().String()
	dir := filepath.Join(t.TempDir(), "data")

	err = run(t.Context(), []string{"--dir", dir}, append(anyPorts, "ORDERS_ADDR="+addr), io.Discard)

	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "ORDERS_ADDR") {
		t.Errorf("err = %v, want one that names %s and ORDERS_ADDR", err, addr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s exists, err = %v", dir, err)
	}
}

// The second `make run` is most often one too many.
func TestDev_SaysHowToReachTheServiceThatRuns(t *testing.T) {
	t.Parallel()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health/live" {
			_, _ = io.WriteString(w, `{"status":"live","version":"0.1.0"}`)
		}
	}))
	t.Cleanup(first.Close)
	addr := first.Listener.Addr().String()

	err := run(t.Context(), []string{"--dir", filepath.Join(t.TempDir(), "data")}, append(anyPorts, "ORDERS_ADDR="+addr), io.Discard)

	if err == nil || !strings.Contains(err.Error(), "running already: open http://"+addr+"/play") || strings.Contains(err.Error(), "\n") {
		t.Errorf("err = %v, want one line that says how to reach %s", err, addr)
	}
}

// To compile takes minutes, and a silent terminal looks like one that hangs.
func TestMakeRun_SaysThatItCompiles(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^run:.*\n\t@echo "Building`).Match(makefile) {
		t.Error("make run prints nothing before it compiles")
	}
}

func TestDev_RefusesDataFromBeforeTheFirstRelease(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	onData(t, dir, `
		CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL);
		INSERT INTO schema_migrations VALUES (6, false);
		CREATE TABLE movement (id bigint PRIMARY KEY)`)
	var out bytes.Buffer

	err := run(t.Context(), []string{"--dir", dir}, anyPorts, &out)

	want := "this database has a schema from before the first release, which cannot be upgraded: " +
		"remove its data with `rm -r " + dir + "` and start again"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
	if out.Len() > 0 {
		t.Errorf("it also prints %q", out.String())
	}
}

// onData executes statements on the database in dir while no orders-dev runs there.
func onData(t *testing.T, dir, statements string) {
	t.Helper()
	server, err := devpostgres.Start(t.Context(), devpostgres.Config{DataDir: filepath.Join(dir, "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := server.EnsureDatabase(t.Context(), ordersDatabase); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL(ordersDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err = conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// The second run continues on the data of the first one and accepts its tokens.
func TestDev_RunsTheServiceTwiceOnTheSameData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for range 2 {
		d := startDev(t, dir)
		var printed bytes.Buffer
		if err := run(t.Context(), strings.Fields("token --sub sber-42 --role customer --dir "+dir), nil, &printed); err != nil {
			t.Fatal(err)
		}
		if status := d.get(t, "/customers/sber-42/balance", strings.TrimSpace(printed.String())); status != http.StatusOK {
			t.Errorf("status %d with the token that was printed", status)
		}
		if status := d.get(t, "/products/"+seedSKU, strings.TrimSpace(printed.String())); status != http.StatusOK {
			t.Errorf("status %d for the product of the session", status)
		}
		d.stop(t)
	}
}

// An earlier version connected as the owner of the database, and made no roles.
func TestDev_ConnectsTheServiceWithARoleOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	startDev(t, dir).stop(t)
	onData(t, dir, `DROP OWNED BY orders_service, orders_app; DROP ROLE orders_app, orders_service`)

	d := startDev(t, dir)
	d.stop(t)

	if strings.Contains(d.printed, "database role may do too much") {
		t.Errorf("orders-dev printed %s", d.printed)
	}
}

// running is an orders-dev in this process.
type running struct {
	url     string
	printed string // up to the address
	cancel  context.CancelFunc
	ended   chan error
}

// startDev starts orders-dev and returns when the service is ready.
func startDev(t *testing.T, dir string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	d := &running{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		err := run(ctx, []string{"--dir", dir}, anyPorts, write)
		_ = write.CloseWithError(io.EOF)
		d.ended <- err
	}()
	t.Cleanup(cancel)
	d.url, d.printed = readURL(t, read, d.ended)
	testwait.Until(t, "the service is ready", func() bool { return d.get(t, "/health/ready", "") == http.StatusOK })
	return d
}

// readURL returns the address that the printed session begins with, and what was printed
// until then. It discards what is printed after it.
func readURL(t *testing.T, out io.Reader, ended <-chan error) (url, before string) {
	t.Helper()
	var printed bytes.Buffer
	address := regexp.MustCompile(`(?m)^ORDERS=(\S+)\n`)
	for buffer := make([]byte, 4096); ; {
		n, err := out.Read(buffer)
		printed.Write(buffer[:n])
		if match := address.FindSubmatch(printed.Bytes()); match != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return string(match[1]), printed.String()
		}
		if err != nil {
			t.Fatalf("orders-dev ended: %v; it printed %q", <-ended, printed.String())
		}
	}
}

// get returns the status of a response, or 0 without any.
func (d *running) get(t *testing.T, path, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func (d *running) stop(t *testing.T) {
	t.Helper()
	d.cancel()
	select {
	case err := <-d.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testwait.Patience):
		t.Fatal("orders-dev does not end")
	}
}
