package main

import (
	"bytes"
	"strings"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMigrate_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	const local = "ORDERS_DATABASE_URL=postgres://nobody@127.0.0.1:1/none"
	for _, c := range []struct {
		args, want string
		environ    []string
	}{
		{"migrate sideways", `unknown argument "sideways": usage: orders migrate up|down|version`, []string{local}},
		{"migrate up", "unset ORDERS_DATABASE_POOLER", []string{local, "ORDERS_DATABASE_POOLER=transaction"}},
		{"migrate up", "ORDERS_DATABASE_ROLE was removed: the role is orders_service", []string{local, "ORDERS_DATABASE_ROLE=shop"}},
		{"migrate up", "ORDERS_DATABSE_URL is no setting; do you mean ORDERS_DATABASE_URL?", []string{"ORDERS_DATABSE_URL=postgres://h/d"}},
		{"migrate up", "set ORDERS_ALLOW_INSECURE=database", []string{"ORDERS_DATABASE_URL=postgres://orders@db.invalid/orders"}},
		{"migrate version", "set ORDERS_ALLOW_INSECURE=database", []string{"ORDERS_DATABASE_URL=postgres://orders@db.invalid/orders"}},
	} {
		err := run(t.Context(), strings.Fields(c.args), c.environ, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("orders %s: err = %v, want one that says %q", c.args, err, c.want)
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
			err := run(t.Context(), args, []string{"ORDERS_DATABASE_URL=" + url, "ORDERS_ALLOW_INSECURE=database"}, &out)
			if err == nil {
				t.Fatalf("orders %s with %s succeeds", args, url)
			}
			if printed := out.String() + err.Error(); strings.Contains(printed, password) {
				t.Errorf("orders %s with %s prints %s", args, url, printed)
			}
		}
	}
}
