package main

import (
	"bytes"
	"strings"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestRun_ReportsWrongArgumentsInOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "no command given: orders help lists the commands"},
		{"fly", `unknown command "fly": orders help lists the commands`},
		{"dev", `unknown command "dev": orders help lists the commands`},
		{"--fly", `unknown command "--fly": orders help lists the commands`},
		{"serve --dir x", `unexpected argument "--dir": orders serve takes none`},
		{"migrate", "usage: orders migrate up|down|version"},
		{"migrate up down", "usage: orders migrate up|down|version"},
		{"migrate sideways", `unknown argument "sideways": usage: orders migrate up|down|version`},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			environ := []string{"ORDERS_DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}
			err := run(t.Context(), strings.Fields(c.args), environ, &out)
			if err == nil || err.Error() != c.want {
				t.Errorf("err = %v\nwant  %s", err, c.want)
			}
			if out.Len() > 0 {
				t.Errorf("it also prints %q", out.String())
			}
		})
	}
}

func TestMigrate_NeedsADatabase(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"migrate", "up"}, nil, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "ORDERS_DATABASE_URL is not set") {
		t.Errorf("err = %v, want one that names ORDERS_DATABASE_URL", err)
	}
}

func TestRun_RefusesMistypedVariables(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "migrate up"} {
		err := run(t.Context(), strings.Fields(command), []string{"ORDERS_DATABSE_URL=postgres://h/d"}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "ORDERS_DATABSE_URL is no setting; do you mean ORDERS_DATABASE_URL?") {
			t.Errorf("orders %s: err = %v, want one that names ORDERS_DATABSE_URL", command, err)
		}
	}
}

func TestMigrate_RefusesAPooler(t *testing.T) {
	t.Parallel()
	environ := []string{"ORDERS_DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "ORDERS_DATABASE_POOLER=transaction"}
	err := run(t.Context(), []string{"migrate", "up"}, environ, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "unset ORDERS_DATABASE_POOLER") {
		t.Errorf("err = %v, want one that says what to do", err)
	}
}

func TestMigrate_RefusesAnUnencryptedDatabase(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"up", "down", "version"} {
		err := run(t.Context(), []string{"migrate", step}, []string{"ORDERS_DATABASE_URL=postgres://orders@db.invalid/orders"}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "set ORDERS_ALLOW_INSECURE=database") {
			t.Errorf("orders migrate %s: err = %v, want one that says how to allow it", step, err)
		}
	}
}

func TestMigrate_PrintsTheVersion(t *testing.T) {
	t.Parallel()
	environ := []string{"ORDERS_DATABASE_URL=" + pgtest.New(t)}
	for _, args := range [][]string{{"migrate", "version"}, {"migrate", "up"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, environ, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), "schema version ") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("orders %s prints %q", strings.Join(args, " "), out.String())
		}
	}
}

// A person who mistypes a URL reads the error, and pastes it into a ticket.
func TestRun_PrintsNoPassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for _, url := range []string{
		"postgres://u:hunter2@127.0.0.1:1/d", "postgres://u:1/hunter2@127.0.0.1:1/d", "postgres://u:x@hunter2@127.0.0.1:1/d",
		"postgres://u:hun ter2@127.0.0.1:1/d", "postgres://u:hunter2@127.0.0.1:x/d", "postgres://u:hunter2@127.0.0.1:1/d?pool_max_conns=x",
		"mysql://u:hunter2@127.0.0.1:1/d", "//u:hunter2@127.0.0.1:1/d",
		"host=127.0.0.1 port=1 user=u password=hunter2 dbname=d", "host=127.0.0.1 port=1 user=u password=hunter2 dbname=d more",
		"host=127.0.0.1 port=1 user=u password='hunter2 dbname=d", "host = 127.0.0.1 port = x password = hunter2", "password=hunter2 sslmode=hunter2",
	} {
		for _, args := range [][]string{{"migrate", "up"}, {"migrate", "version"}, {"serve"}, {"migrate", url}, {"serve", url}, {url}} {
			var out bytes.Buffer
			err := run(t.Context(), args, []string{"ORDERS_DATABASE_URL=" + url}, &out)
			if err == nil {
				t.Fatalf("orders %s with %s succeeds", args, url)
			}
			if printed := out.String() + err.Error(); strings.Contains(printed, password) {
				t.Errorf("orders %s with %s prints %s", args, url, printed)
			}
		}
	}
}
