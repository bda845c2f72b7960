//go:build deploy

package deploy

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/dev/postgres"
	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

// maxSize is far above what the image has, 36 MB, and far below one with a distribution.
const maxSize = 60 << 20

// database is the one of deploy/postgres/roles.sql.
const database = "orders"

var withImage = flag.Bool("image", false, "build the image with buildah as root, and run its programs")

// The image is built once, and its parts are tested with it. Its programs run as the
// image's user, in a chroot that is mounted read-only.
func TestImage(t *testing.T) {
	if !*withImage {
		t.Skip("NOT CHECKED: the image; make -C lab image does")
	}
	authority := testcert.NewAuthority(t)
	built := build(t, authority.PEM())
	t.Run("holds the binary and the CAs alone", func(t *testing.T) { checkFiles(t, built) })
	t.Run("says how to run it", func(t *testing.T) { checkConfiguration(t, built) })
	t.Run("runs read-only and without root", func(t *testing.T) { checkRuns(t, built, authority) })
}

func checkFiles(t *testing.T, built image) {
	t.Helper()
	names, size := built.list(t)
	if diff := cmp.Diff([]string{"/etc/ssl/certs/ca-certificates.crt", "/orders"}, names); diff != "" {
		t.Error(diff)
	}
	if size > maxSize {
		t.Errorf("the image has %d bytes", size)
	}
}

func checkConfiguration(t *testing.T, built image) {
	t.Helper()
	want := image{
		User: "65532:65532", Entrypoint: []string{"/orders"}, Cmd: []string{"serve"}, Labels: built.Labels,
		Env: []string{"ORDERS_ADDR=:8080"}, ExposedPorts: map[string]struct{}{"8080/tcp": {}}, files: built.files,
	}
	want.Healthcheck.Test = []string{"CMD", "/orders", "health"}
	got := built
	for i, variable := range got.Env {
		if strings.HasPrefix(variable, "PATH=") { // buildah adds its default
			got.Env = append(got.Env[:i:i], got.Env[i+1:]...)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(image{})); diff != "" {
		t.Error(diff)
	}
	for _, label := range []string{"title", "description", "licenses"} {
		if built.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("the label %s is missing", label)
		}
	}
}

// checkRuns migrates a database with the roles of deploy/postgres, serves it, asks for its
// health, and stops the service.
func checkRuns(t *testing.T, built image, authority *testcert.Authority) {
	t.Helper()
	pg := startPostgres(t)
	built.mustRun(t, []string{"ORDERS_DATABASE_URL=" + pg.URLAs("orders_owner", database)}, "migrate", "up")
	public, admin := testport.Free(t), testport.Free(t)
	environ := []string{
		"ORDERS_DATABASE_URL=" + pg.URLAs("orders_app", database),
		fmt.Sprintf("ORDERS_ADDR=127.0.0.1:%d", public), fmt.Sprintf("ORDERS_ADMIN_ADDR=127.0.0.1:%d", admin),
		"ORDERS_JWT_ISSUER=" + issuer.Name, "ORDERS_JWT_AUDIENCE=" + issuer.Audience,
		"ORDERS_JWKS_URL=" + startIssuer(t, authority),
	}
	server := built.command(t, environ, built.Cmd...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	testwait.Until(t, "the service is ready", func() bool {
		return e2e.IsOK(fmt.Sprintf("http://127.0.0.1:%d/health/ready", public))
	})

	checkRestricted(t, server.Process.Pid)
	built.mustRun(t, environ, built.Healthcheck.Test[2:]...)

	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the service ends with %v", err)
	}
	if out, err := built.command(t, environ, built.Healthcheck.Test[2:]...).CombinedOutput(); err == nil {
		t.Errorf("a service that has stopped is healthy: %s", out)
	}
}

// checkRestricted reads how the kernel sees the process.
func checkRestricted(t *testing.T, pid int) {
	t.Helper()
	status := string(mustRead(t, fmt.Sprintf("/proc/%d/status", pid)))
	for _, want := range []string{"\nUid:\t65532\t65532\t65532\t65532\n", "\nGid:\t65532\t65532\t65532\t65532\n", "\nCapEff:\t0000000000000000\n"} {
		if !strings.Contains(status, want) {
			t.Errorf("the status of the process has no line %q", want)
		}
	}
	mounts := string(mustRead(t, fmt.Sprintf("/proc/%d/mountinfo", pid)))
	if !strings.Contains(mounts, " / ro,") {
		t.Errorf("the root of the process can be written: %s", mounts)
	}
}

// command returns a command of the image: in a chroot to its files, which are read-only, and
// as its user. The mounts are of the process alone and end with it.
func (i image) command(t *testing.T, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	const enter = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot --userspec="$1" "$0" "$2" "${@:3}"`
	words := append([]string{"--mount", "bash", "-c", enter, i.files, i.User, i.Entrypoint[0]}, args...)
	cmd := exec.CommandContext(t.Context(), "unshare", words...)
	cmd.Env = append(append([]string{"PATH=" + os.Getenv("PATH")}, i.Env...), environ...)
	cmd.Dir = "/"
	return cmd
}

func (i image) mustRun(t *testing.T, environ []string, args ...string) {
	t.Helper()
	if out, err := i.command(t, environ, args...).CombinedOutput(); err != nil {
		t.Fatalf("orders %s: %v: %s", args, err, out)
	}
}

// startPostgres starts a server with the roles and the database of deploy/postgres.
func startPostgres(t *testing.T) *postgres.Server {
	t.Helper()
	pg := pgtest.StartCluster(t, postgres.Config{Port: testport.Free(t)})
	roles, err := os.Open(root + "/deploy/postgres/roles.sql")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = roles.Close() }()
	psql := pg.Command(t.Context(), "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", pg.URL("postgres"))
	psql.Env = append(psql.Env, "OWNER_PASSWORD=1owner's", "APP_PASSWORD=2app")
	psql.Stdin = roles
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkPasswords(t, pg)
	return pg
}

// checkPasswords reports a role without a password: without its variable, psql would leave
// one out.
func checkPasswords(t *testing.T, pg *postgres.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var protected int
	err = conn.QueryRow(t.Context(), `SELECT count(DISTINCT rolpassword) FROM pg_authid
		WHERE rolname IN ('orders_owner', 'orders_app') AND rolcanlogin AND NOT rolsuper`).Scan(&protected)
	if err != nil || protected != 2 {
		t.Errorf("%d roles have a password, err = %v", protected, err)
	}
}

// startIssuer publishes the keys of an issuer by https, with a certificate that only the
// CAs of the image make good, and returns their URL.
func startIssuer(t *testing.T, authority *testcert.Authority) string {
	t.Helper()
	keys, err := issuer.New(issuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	pair := authority.Server(t)
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(keys.Handler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + issuer.JWKSPath
}
