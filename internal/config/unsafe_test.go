package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unsafeSettings are values that others on the network could use, by the name that allows
// them.
var unsafeSettings = map[string][]string{
	"admin": {
		"ORDERS_ADMIN_ADDR=0.0.0.0:9090", "ORDERS_ADMIN_ADDR=:9090", "ORDERS_ADMIN_ADDR=[::]:9090", "ORDERS_ADMIN_ADDR=10.0.0.7:9090",
		"ORDERS_ADMIN_ADDR=203.0.113.7:9090", "ORDERS_ADMIN_ADDR=orders.internal:9090", "ORDERS_ADMIN_ADDR=[fe80::1]:9090",
		"ORDERS_ADMIN_ADDR=localhost.example:9090",
	},
	"database": {
		"ORDERS_DATABASE_URL=postgres://orders@db/orders",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=disable",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=allow",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=prefer",
		"ORDERS_DATABASE_URL=postgres://orders@10.0.0.7:5432/orders?sslmode=disable",
		"ORDERS_DATABASE_URL=postgres://orders@127.0.0.1,db/orders",
		"ORDERS_DATABASE_URL=postgres://orders@127.0.0.1/orders?host=db",
		"ORDERS_DATABASE_URL=postgres:///orders?host=db",
		"ORDERS_DATABASE_URL=postgres:///orders?host=/run/postgresql,db",
		"ORDERS_DATABASE_URL=postgres://127.0.0.1.example/orders",
		"ORDERS_DATABASE_URL=postgresql://orders@db/orders?sslmode=require&sslmode=disable",
	},
	"broker": {
		"ORDERS_NATS_URL=nats://broker:4222", "ORDERS_NATS_URL=nats://orders:word@broker:4222", "ORDERS_NATS_URL=nats://10.0.0.7",
		"ORDERS_NATS_URL=tls://broker:4222", "ORDERS_NATS_URL=tls://@broker:4222", "ORDERS_NATS_URL=nats://localhost.example",
		"ORDERS_NATS_URL=nats://127.0.0.1,nats://broker", "ORDERS_NATS_URL=tls://orders:word@a,tls://b",
	},
	"traces": {"ORDERS_OTLP_ENDPOINT=http://collector:4318", "ORDERS_OTLP_ENDPOINT=http://10.0.0.7:4318", "ORDERS_OTLP_ENDPOINT=http://localhost.example"},
}

func TestRead_RefusesUnsafeSettings(t *testing.T) {
	t.Parallel()
	for name, settings := range unsafeSettings {
		for _, setting := range settings {
			t.Run(setting, func(t *testing.T) {
				t.Parallel()
				variable, _, _ := strings.Cut(setting, "=")
				_, err := Read(append(required(), setting))
				if err == nil || strings.Count(err.Error(), "\n") != 1 {
					t.Fatalf("err = %v, want one problem", err)
				}
				for _, part := range []string{"\n" + variable + " must ", "set ORDERS_ALLOW_INSECURE=" + name} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not contain %q", err, part)
					}
				}
			})
		}
	}
}

func TestRead_AcceptsUnsafeSettingsThatAreAllowed(t *testing.T) {
	t.Parallel()
	for name, settings := range unsafeSettings {
		for _, setting := range settings {
			if _, err := Read(append(required(), setting, "ORDERS_ALLOW_INSECURE="+name)); err != nil {
				t.Errorf("%s, allowed by %s: %v", setting, name, err)
			}
			if _, err := Read(append(required(), setting, "ORDERS_ALLOW_INSECURE=admin,database,broker,traces,webhooks")); err != nil {
				t.Errorf("%s, all allowed: %v", setting, err)
			}
			others := strings.Replace("admin,database,broker,traces", name, "admin", 1)
			if name == "admin" {
				others = "database,broker"
			}
			if _, err := Read(append(required(), setting, "ORDERS_ALLOW_INSECURE="+others)); err == nil {
				t.Errorf("%s is accepted with %s", setting, others)
			}
		}
	}
}

func TestPrivateWebhooks_NeedTheirWord(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[string]bool{"": false, "admin,database,broker,traces": false, "webhooks": true, "admin,webhooks": true} {
		cfg, err := Read(append(required(), "ORDERS_ALLOW_INSECURE="+allowed))
		if err != nil || cfg.PrivateWebhooks() != want {
			t.Errorf("%q: %v, err = %v, want %v", allowed, cfg.PrivateWebhooks(), err, want)
		}
	}
}

// The error has a value to paste, which keeps what is allowed already.
func TestRead_NamesTheValueThatAllowsAnUnsafeSetting(t *testing.T) {
	t.Parallel()
	_, err := Read(append(required(), "ORDERS_ALLOW_INSECURE=admin", "ORDERS_NATS_URL=nats://broker"))
	if err == nil || !strings.HasSuffix(err.Error(), "set ORDERS_ALLOW_INSECURE=admin,broker") {
		t.Errorf("err = %v", err)
	}
}

func TestRead_AcceptsSafeSettings(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"ORDERS_ADMIN_ADDR=127.0.0.1:9090", "ORDERS_ADMIN_ADDR=[::1]:9090", "ORDERS_ADMIN_ADDR=localhost:9090",
		"ORDERS_ADDR=0.0.0.0:8080", "ORDERS_ADDR=:8080",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=require",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=verify-ca",
		"ORDERS_DATABASE_URL=postgres://orders@db1,db2:5433/orders?sslmode=verify-full",
		"ORDERS_DATABASE_URL=postgres://orders@127.0.0.1/orders", "ORDERS_DATABASE_URL=postgres://orders@[::1]/orders",
		"ORDERS_DATABASE_URL=postgres://orders@localhost/orders?sslmode=disable",
		"ORDERS_DATABASE_URL=postgres:///orders?host=/run/postgresql&sslmode=disable",
		"ORDERS_DATABASE_URL=postgres:///orders?host=/run/postgresql,localhost",
		"ORDERS_NATS_URL=tls://orders:word@broker:4222", "ORDERS_NATS_URL=tls://token@broker",
		"ORDERS_NATS_URL=nats://127.0.0.1:4222", "ORDERS_NATS_URL=nats://localhost",
		"ORDERS_NATS_URL=nats://127.0.0.1:4222,nats://127.0.0.2:4222", "ORDERS_NATS_URL=tls://orders:word@a,tls://token@b,tls://localhost",
	} {
		if _, err := Read(append(required(), setting)); err != nil {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestRead_AcceptsAFileWithCredentialsOfTheBroker(t *testing.T) {
	t.Parallel()
	file := append(required(), "ORDERS_NATS_CREDENTIALS=orders.creds")
	if _, err := Read(append(slices.Clip(file), "ORDERS_NATS_URL=tls://broker:4222")); err != nil {
		t.Error(err)
	}
	if _, err := Read(append(slices.Clip(file), "ORDERS_NATS_URL=nats://broker:4222")); err == nil {
		t.Error("the file is sent without TLS")
	}
}

// The driver reads the PG… variables of the process, so they count as well.
func TestRead_KnowsWhereTheVariablesOfPostgreSQLLead(t *testing.T) {
	service := filepath.Join(t.TempDir(), "pg_service.conf")
	if err := os.WriteFile(service, []byte("[far]\nhost=db\nsslmode=disable\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url, variable, value string
		refused              bool
	}{
		{"postgres:///orders", "PGHOST", "db", true},
		{"postgres:///orders", "PGHOST", "/run/postgresql", false},
		{"postgres://127.0.0.1/orders", "PGHOST", "db", false},
		{"postgres://db/orders", "PGSSLMODE", "verify-full", false},
		{"postgres://db/orders", "PGSSLMODE", "prefer", true},
		{"postgres://db/orders?sslmode=require", "PGSSLMODE", "disable", false},
		{"postgres:///orders?service=far", "PGSERVICEFILE", service, true},
	} {
		t.Run(c.variable+"="+c.value+" "+c.url, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			_, err := Read(append(required(), "ORDERS_DATABASE_URL="+c.url))
			if refused := err != nil; refused != c.refused {
				t.Errorf("err = %v, refused should be %v", err, c.refused)
			}
		})
	}
}

func TestReadDatabase_ReadsBothFormsOfURL(t *testing.T) {
	t.Parallel()
	for url, refused := range map[string]bool{
		"postgres://orders@db/orders":                     true,
		"postgres://orders@db/orders?sslmode=verify-full": false,
		"host=db dbname=orders":                           true,
		"host=db dbname=orders sslmode=require":           false,
		"host=localhost,db dbname=orders":                 true,
		"host=localhost dbname=orders":                    false,
		"host=/run/postgresql dbname=orders":              false,
	} {
		environ := []string{"ORDERS_DATABASE_URL=" + url}
		if _, err := ReadDatabase(environ); (err != nil) != refused {
			t.Errorf("%s: err = %v, refused should be %v", url, err, refused)
		}
		if _, err := ReadDatabase(append(environ, "ORDERS_ALLOW_INSECURE=admin,database")); err != nil {
			t.Errorf("%s, allowed: %v", url, err)
		}
	}
}
