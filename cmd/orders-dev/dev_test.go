package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/observe/version"
	testlog "example.com/orders/internal/test/log"
	testwait "example.com/orders/internal/test/wait"
)

func TestRun_ReportsWrongArgumentsInOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const hint = "orders-dev help lists commands and flags"
	for args, want := range map[string]string{
		"fly":                         `unexpected argument "fly": ` + hint,
		"--fly":                       "flag provided but not defined: -fly: " + hint,
		"version now":                 `unexpected argument "now": usage: orders-dev version`,
		"token --sub alice":           tokenUsage,
		"token --role customer":       tokenUsage,
		"token --fly":                 "flag provided but not defined: -fly: " + tokenUsage,
		"token --sub a --role x,king": `unknown role "x": a role is customer, seller, admin or system`,
		"token --sub a --role customer --dir " + dir: "no signing key in " + dir + ": run orders-dev once in this folder",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), nil, &out); err == nil || err.Error() != want || out.Len() > 0 {
			t.Errorf("orders-dev %s: err = %v\nwant  %s\nit also prints %q", args, err, want, out.String())
		}
	}
}

func TestHelp_PrintsTheUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"help": help, "--dir x -h": help, "version --help": help, "token --sub alice --help": tokenHelp,
		"version": "orders-dev " + version.Get().String() + "\n",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), nil, &out); err != nil || out.String() != want {
			t.Errorf("orders-dev %s: err = %v, output %q", args, err, out.String())
		}
	}
}

// These need no data of their own, so they share one orders-dev: its start is most of the
// time that they take. The examples come first, because they are for the first start.
func TestDev(t *testing.T) {
	t.Parallel()
	d := startDev(t, newDir(t))
	t.Run("prints where everything is", func(t *testing.T) { wantAddresses(t, d) })
	t.Run("each example of the reference works", func(t *testing.T) { wantExamplesToWork(t, d) })
	t.Run("each request for an editor works", func(t *testing.T) { wantRequestsToWork(t, d) })
	t.Run("each scenario of the playground pays once, with a guard", func(t *testing.T) { wantScenariosToPay(t, d) })
	t.Run("a refund in the dashboard is adopted once", func(t *testing.T) { wantDashboardRefund(t, d) })
	t.Run("a webhook that is sent again takes effect once", func(t *testing.T) { wantRepeatedWebhook(t, d) })
	t.Run("the service has no twin without the guard", func(t *testing.T) { wantNoTwin(t, d) })
	t.Run("pages answer only their own scripts", func(t *testing.T) { wantPagesToRefuseOthers(t, d) })
	t.Run("the reference page gets the script that hands it tokens", func(t *testing.T) { wantBothScripts(t, d) })
	t.Run("a token has the role that is asked for", func(t *testing.T) { wantTokensOfRoles(t, d) })
	replicas := state(t, d.press(t, "open")).Replicas
	d.stop(t)
	for _, r := range replicas {
		if err := syscall.Kill(r.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d of replica %s: %v", r.PID, r.Name, err)
		}
	}
}

func wantAddresses(t *testing.T, d *running) {
	t.Helper()
	printed := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(d.out.String())
		if found == nil {
			t.Fatalf("%s is not in\n%s", pattern, d.out)
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
	if status := d.get(t, "/", ""); status != http.StatusOK { // leads to the reference
		t.Errorf("the root: status %d", status)
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
	addr, dir := first.Listener.Addr().String(), filepath.Join(t.TempDir(), "data")

	err := run(t.Context(), []string{"--dir", dir}, append(anyPorts, "ORDERS_ADDR="+addr), io.Discard)

	if err == nil || !strings.Contains(err.Error(), "running already: open http://"+addr+"/play") || strings.Contains(err.Error(), "\n") {
		t.Errorf("err = %v, want one line that says how to reach %s", err, addr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s exists, err = %v", dir, err)
	}
}

// The second run continues on the data of the first one and accepts its tokens. Only the
// playground begins with an empty database each time.
func TestDev_RunsTheServiceTwiceOnTheSameData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for range 2 {
		d := startDev(t, dir)
		var printed bytes.Buffer
		if err := run(t.Context(), strings.Fields("token --sub sber-42 --role customer --dir "+dir), nil, &printed); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/customers/sber-42/balance", "/products/" + seedSKU, "/play"} {
			if status := d.get(t, path, strings.TrimSpace(printed.String())); status != http.StatusOK {
				t.Errorf("%s: status %d", path, status)
			}
		}
		wantWebhook(t, d)
		if got := state(t, d.press(t, "pay")); got.Payment != 1 || len(got.Ledger) != 2 {
			t.Errorf("the first payment is %d, the ledger %v", got.Payment, got.Ledger)
		}
		d.stop(t)
	}
}

// wantWebhook fails the test unless the seller has one endpoint, which receives a test event.
func wantWebhook(t *testing.T, d *running) {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + d.token(t, "seller")}}
	var found struct{ Data []struct{ ID int64 } }
	list := d.send(t, http.MethodGet, "/webhook-endpoints", header, "").body
	if err := json.Unmarshal(list, &found); err != nil || len(found.Data) != 1 {
		t.Fatalf("the endpoints are %s, %v", list, err)
	}
	d.send(t, http.MethodPost, fmt.Sprintf("/webhook-endpoints/%d/test", found.Data[0].ID), header, "")
	testwait.Until(t, "the receiver logs the event", func() bool {
		return regexp.MustCompile(`webhook received.*type=webhook_endpoint\.test`).MatchString(d.out.String())
	})
}

// An earlier version connected as the owner of the database, and made no roles. A run that
// was killed leaves its faults in PostgreSQL.
func TestDev_RepairsWhatAnEarlierRunLeft(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	startDev(t, dir).stop(t)
	server, err := devpostgres.Start(t.Context(), devpostgres.Config{DataDir: filepath.Join(dir, "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL(serviceDatabase))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `DROP OWNED BY orders_service, orders_app; DROP ROLE orders_app, orders_service;
		ALTER DATABASE `+serviceDatabase+` SET default_transaction_read_only = on`)
	if err := errors.Join(err, conn.Close(t.Context()), server.Stop()); err != nil {
		t.Fatal(err)
	}

	d := startDev(t, dir) // fails unless it is ready
	defer d.stop(t)

	database := regexp.MustCompile(`psql '(.*)'`).FindStringSubmatch(d.out.String())[1]
	if conn, err = pgx.Connect(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	rows, _ := conn.Query(t.Context(), "SELECT DISTINCT usename::text FROM pg_stat_activity WHERE application_name = 'orders'")
	roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err := errors.Join(err, conn.Close(t.Context())); err != nil || !slices.Equal(roles, []string{"orders_app"}) {
		t.Errorf("the service connects as %v, %v", roles, err)
	}
}

// anyPorts makes the service listen on ports that the system chooses.
var anyPorts = []string{"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0"}

// newDir returns a folder that PostgreSQL's own user can reach. Nobody but us can reach
// those of t.TempDir, so that orders-dev would put the data elsewhere.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "orders-dev-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running is an orders-dev in this process.
type running struct {
	url    string
	out    *testlog.Buffer
	cancel context.CancelFunc
	ended  chan error
}

// startDev starts orders-dev and returns when the service is ready.
func startDev(t *testing.T, dir string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &running{out: &testlog.Buffer{}, cancel: cancel, ended: make(chan error, 1)}
	go func() { d.ended <- run(ctx, []string{"--dir", dir}, anyPorts, d.out) }()
	t.Cleanup(cancel)
	testwait.Until(t, "the session is printed", func() bool {
		if len(d.ended) > 0 {
			t.Fatalf("orders-dev ended: %v; it printed %s", <-d.ended, d.out)
		}
		found := regexp.MustCompile(`(?m)^ORDERS=(\S+)\n`).FindStringSubmatch(d.out.String())
		if found != nil {
			d.url = found[1]
		}
		return found != nil
	})
	d.awaitReady(t)
	return d
}

func (d *running) awaitReady(t *testing.T) {
	t.Helper()
	testwait.Until(t, "the service is ready", func() bool { return d.get(t, "/health/ready", "") == http.StatusOK })
}

// get returns the status of a response, or 0 without any.
func (d *running) get(t *testing.T, path, token string) int {
	t.Helper()
	return d.send(t, http.MethodGet, path, http.Header{"Authorization": {"Bearer " + token}}, "").status
}

// response is a response whose body has been read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request. It returns the zero response without any.
func (d *running) send(t *testing.T, method, path string, header http.Header, body string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return response{}
	}
	defer func() { _ = got.Body.Close() }()
	read, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{got.StatusCode, got.Header, read}
}

// stop ends orders-dev as Ctrl-C does.
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
	if d.out != nil && !strings.Contains(d.out.String(), "\nGood-bye. The data stays in ") {
		t.Errorf("it printed %s", d.out)
	}
}
