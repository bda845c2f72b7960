package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/observe/version"
)

// complete is an environment that orders serve accepts.
func complete(more ...string) []string {
	return append([]string{
		"ORDERS_DATABASE_URL=postgres://orders_app@127.0.0.1:1/orders",
		"ORDERS_JWT_ISSUER=https://issuer.example.com", "ORDERS_JWT_AUDIENCE=orders",
		"ORDERS_JWKS_URL=https://issuer.example.com/keys",
	}, more...)
}

// outcome is what a process leaves behind.
type outcome struct {
	code          int
	out, problems string
}

func executed(t *testing.T, args string, environ []string) outcome {
	t.Helper()
	var out, problems bytes.Buffer
	code := execute(t.Context(), strings.Fields(args), environ, &out, &problems)
	return outcome{code, out.String(), problems.String()}
}

func TestExecute_PrintsAndExits(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]outcome{
		"help":                    {out: usage},
		"--help":                  {out: usage},
		"serve --dir x --help":    {out: serveUsage},
		"migrate up --help":       {out: migrateUsage},
		"version":                 {out: "orders " + version.Get().String() + "\n"},
		"":                        {1, "", "orders: no command given: orders help lists the commands\n"},
		"fly --help":              {1, "", "orders: unknown command \"fly\": orders help lists the commands\n"},
		"serve --dir x":           {1, "", "orders: unexpected argument \"--dir\": orders serve takes none\n"},
		"health 127.0.0.1:9090":   {1, "", "orders: unexpected argument \"…\": orders health takes none\n"},
		"migrate":                 {1, "", "orders: usage: orders migrate up|down|version\n"},
		"migrate up":              {1, "", "orders: ORDERS_DATABASE_URL is not set: it names the database\n"},
		"migrate postgres://u:p@": {1, "", "orders: ORDERS_DATABASE_URL is not set: it names the database\n"},
	} {
		if got := executed(t, args, nil); got != want {
			t.Errorf("orders %s\ngot  %+v\nwant %+v", args, got, want)
		}
	}
}

// The lists in the usage and in the manual are written by hand.
func TestUsage_ListsEveryCommand(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate.md"))
	if os.IsNotExist(err) {
		t.Skip("a copy without the business has no manual")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if !strings.Contains(usage, "\n  orders "+c.name+" ") || !strings.Contains(string(manual), "| `orders "+c.name) {
			t.Errorf("the usage or docs/operate.md do not list orders %s", c.name)
		}
		if !strings.HasPrefix(c.usage, "usage: orders "+c.name) {
			t.Errorf("the usage of orders %s begins with %.30q", c.name, c.usage)
		}
	}
}

func TestConfig_PrintsWhatIsInForceWithoutSecrets(t *testing.T) {
	t.Parallel()
	got := executed(t, "config", complete("ORDERS_NATS_URL=nats://u:hunter2@127.0.0.1:4222", "ORDERS_IN_FLIGHT=7"))
	if got.code != 0 || got.problems != "" || strings.Contains(got.out, "hunter2") {
		t.Fatalf("got %+v", got)
	}
	for _, line := range []string{"ORDERS_ADDR=127.0.0.1:8080  # default", "ORDERS_IN_FLIGHT=7", "ORDERS_NATS_URL=nats://xxxxx@127.0.0.1:4222"} {
		if !strings.Contains("\n"+got.out, "\n"+line+"\n") {
			t.Errorf("%s is missing in\n%s", line, got.out)
		}
	}
}

func TestConfig_PrintsEveryProblem(t *testing.T) {
	t.Parallel()
	environ := complete("ORDERS_IN_FLIGHT=many", "ORDERS_DATABSE_URL=x", "ORDERS_TLS_CERT=cert.pem")

	got := executed(t, "config", environ)

	if got.code != 1 || got.out != "" || got.problems != executed(t, "serve", environ).problems {
		t.Errorf("got %+v, want what orders serve prints", got)
	}
	for _, problem := range []string{"ORDERS_IN_FLIGHT must", "ORDERS_DATABSE_URL is no setting", "ORDERS_TLS_CERT must"} {
		if !strings.Contains(got.problems, problem) {
			t.Errorf("%s is missing in %s", problem, got.problems)
		}
	}
}

func TestHealth_ReportsWhatTheServiceAnswers(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	status.Store(http.StatusOK)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health/ready" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, `{"status": "ready", "detail": "waiting for the database: connection refused"}`)
	}))
	defer service.Close()
	address, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	environ := func(host string) []string {
		return []string{"ORDERS_ADMIN_ADDR=" + host + ":" + address.Port()}
	}

	for _, host := range []string{"127.0.0.1", "0.0.0.0", ""} {
		if got := executed(t, "health", environ(host)); got != (outcome{out: "ready\n"}) {
			t.Errorf("on host %q: %+v", host, got)
		}
	}
	status.Store(http.StatusServiceUnavailable)
	want := outcome{1, "", "orders: not ready: " + address.Host + " answers 503 Service Unavailable: waiting for the database: connection refused\n"}
	if got := executed(t, "health", environ("127.0.0.1")); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	service.Close()
	if got := executed(t, "health", environ("127.0.0.1")); got.code != 1 || !strings.HasPrefix(got.problems, "orders: no answer: ") {
		t.Errorf("without a service: %+v", got)
	}
}

func TestHealth_AsksNoOtherInstance(t *testing.T) {
	t.Parallel()
	const mustBe = "orders: ORDERS_ADMIN_ADDR must be host:port, such as 127.0.0.1:9090\n"
	for setting, problem := range map[string]string{
		"ORDERS_ADMIN_ADDR=9090":            mustBe,
		"ORDERS_ADMIN_ADDR=localhost":       mustBe,
		"ORDERS_ADMIN_ADDR=127.0.0.1:":      mustBe,
		"ORDERS_ADMIN_ADDR=127.0.0.1/x:90":  mustBe,
		"ORDERS_ADMIN_ADDR=orders@[::1]:90": mustBe,
		"ORDERS_ADMIN_ADDR=127.0.0.1:0":     "orders: ORDERS_ADMIN_ADDR has port 0, which means any free port: name the port to ask\n",
		"ORDERS_ADMIN_ADR=127.0.0.1:90":     "orders: ORDERS_ADMIN_ADR is no setting; do you mean ORDERS_ADMIN_ADDR?\n",
		"ORDERS_ADDR_ADMIN=127.0.0.1:90":    "orders: ORDERS_ADDR_ADMIN is no setting; do you mean ORDERS_ADMIN_ADDR?\n",
		"ORDERS_ADMIN_ADDR=192.0.2.7:90":    "orders: no answer: Get \"http://192.0.2.7:90/health/ready\": dial tcp 192.0.2.7:90: 192.0.2.7 is no address of this machine",
		"ORDERS_ADMIN_ADDR=h.invalid:9090":  "orders: no answer: Get \"http://h.invalid:9090/health/ready\": ",
	} {
		got := executed(t, "health", []string{setting})
		if got.code != 1 || got.out != "" || !strings.HasPrefix(got.problems, problem) {
			t.Errorf("%s\ngot  %+v\nwant %s", setting, got, problem)
		}
	}
}

func TestHealth_TakesNoOtherProgramForTheService(t *testing.T) {
	t.Parallel()
	ready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status": "ready"}`)
	}))
	defer ready.Close()
	const foreign = " answers, but not as orders serve: is ORDERS_ADMIN_ADDR the address of another program?\n"
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		problem string
	}{
		"a redirect":        {http.RedirectHandler(ready.URL, http.StatusFound).ServeHTTP, " answers 302 Found\n"},
		"a page":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>ready</h1>") }, foreign},
		"no body":           {func(http.ResponseWriter, *http.Request) {}, foreign},
		"other JSON":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status": "UP"}`) }, foreign},
		"a list":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `["ready"]`) }, foreign},
		"liveness":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status": "live"}`) }, foreign},
		"another 2xx":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, " answers 204 No Content\n"},
		"no such path":      {http.NotFound, " answers 404 Not Found\n"},
		"an answer cut off": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status": "rea`) }, foreign},
	} {
		other := httptest.NewServer(c.handler)
		addr := other.Listener.Addr().String()
		got := executed(t, "health", []string{"ORDERS_ADMIN_ADDR=" + addr})
		other.Close()
		if want := (outcome{1, "", "orders: not ready: " + addr + c.problem}); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}
