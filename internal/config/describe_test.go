package config

import (
	"slices"
	"strings"
	"testing"
)

// described returns the settings that Describe shows for an environment, as NAME=value.
func described(t *testing.T, environ ...string) []string {
	t.Helper()
	cfg, err := Read(append(required(), environ...))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, setting := range Describe(cfg) {
		shown = append(shown, setting.Name+"="+setting.Value)
	}
	return shown
}

func TestDescribe_ShowsEverySetting(t *testing.T) {
	t.Parallel()
	shown := described(t, "ORDERS_UNLIMITED_ROLES=admin,system")
	var names []string
	for _, setting := range shown {
		name, _, _ := strings.Cut(setting, "=")
		names = append(names, name)
	}
	isFile := func(name string) bool { return strings.HasSuffix(name, fileSuffix) }
	if want := slices.DeleteFunc(variables(), isFile); !slices.Equal(names, want) {
		t.Errorf("the settings are %v\nwant %v", names, want)
	}
	for _, want := range []string{
		"ORDERS_ADDR=127.0.0.1:8080", "ORDERS_JWT_TYPES=JWT,at+jwt", "ORDERS_UNLIMITED_ROLES=admin,system", "ORDERS_IN_FLIGHT=64",
		"ORDERS_ROLES_MAP=customer=customer,seller=seller,admin=admin,system=system", "ORDERS_JWT_CLIENTS=",
		"ORDERS_JWT_MAX_LIFETIME=24h0m0s", "ORDERS_STRIPE_KEY=", "ORDERS_NATS_URL=", "ORDERS_LOG_LEVEL=info",
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=verify-full", "ORDERS_JWKS_URL=https://issuer.example/keys",
	} {
		if !slices.Contains(shown, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(shown, "\n"))
		}
	}
}

func TestDescribe_MarksDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Read(append(required(), "ORDERS_IN_FLIGHT=7", "ORDERS_LOG_LEVEL=info"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		"ORDERS_ADDR": true, "ORDERS_LOG_LEVEL": true, "ORDERS_JWT_TYPES": true,
		"ORDERS_IN_FLIGHT": false, "ORDERS_JWT_ISSUER": false, "ORDERS_STRIPE_KEY": false,
	}
	for _, setting := range Describe(cfg) {
		if marked, known := want[setting.Name]; known && setting.Default != marked {
			t.Errorf("%s=%s: default = %t", setting.Name, setting.Value, setting.Default)
		}
	}
}

// Which role, which pool, which CA and which socket are in force is what people look for.
func TestDescribe_ShowsWhereADatabaseURLLeads(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ORDERS_DATABASE_URL", "ORDERS_DATABASE_STANDBY_URL"} {
		for url, want := range map[string]string{
			"postgres://orders_app:hunter2@db/orders?sslmode=verify-full&sslrootcert=/etc/ca.pem&pool_max_conns=17": "postgres://orders_app:xxxxx@db/orders?pool_max_conns=17&sslmode=verify-full&sslrootcert=/etc/ca.pem",
			"postgres://orders_app@/orders?host=/run/postgresql&port=5433":                                          "postgres://orders_app@/orders?host=/run/postgresql&port=5433",
			"postgres:///orders?host=/run/postgresql&user=orders_app&sslpassword=hunter2":                           "postgres:///orders?host=/run/postgresql&user=orders_app",
		} {
			if shown := described(t, name+"="+url); !slices.Contains(shown, name+"="+want) {
				t.Errorf("%s=%s is shown in\n%s\nwant %s", name, url, strings.Join(shown, "\n"), want)
			}
		}
	}
}

// People paste what they see into tickets.
func TestDescribe_HidesSecrets(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"ORDERS_DATABASE_URL=postgres://orders:hunter2@db/orders?sslmode=verify-full":   "postgres://orders:xxxxx@db/orders?sslmode=verify-full",
		"ORDERS_DATABASE_URL=postgres:///orders?host=/run/pg&password=hunter2":          "postgres:///orders?host=/run/pg",
		"ORDERS_DATABASE_URL=postgres://127.0.0.1/orders?options=-c%20x.y=hunter2":      "postgres://127.0.0.1/orders",
		"ORDERS_DATABASE_URL=postgres://u:hunter2@a:1,b,[::1]:2/orders?sslmode=require": "postgres://u:xxxxx@a:1,b,[::1]:2/orders?sslmode=require",
		"ORDERS_NATS_URL=nats://hunter2@127.0.0.1":                                      "nats://xxxxx@127.0.0.1",
		"ORDERS_NATS_URL=tls://orders:hunter2@broker:4222":                              "tls://xxxxx@broker:4222",
		"ORDERS_NATS_URL=tls://orders:hunter2@a:4222,tls://hunter2@b":                   "tls://xxxxx@a:4222,tls://xxxxx@b",
		"ORDERS_JWKS_URL=https://orders:hunter2@issuer.example/keys":                    "https://xxxxx@issuer.example/keys",
		"ORDERS_JWKS_URL=https://issuer.example/keys?key=hunter2":                       "https://issuer.example/keys",
		"ORDERS_STRIPE_URL=https://stripe.example/v1?key=hunter2":                       "https://stripe.example/v1",
	} {
		name, _, _ := strings.Cut(setting, "=")
		shown := described(t, setting)
		if !slices.Contains(shown, name+"="+want) || strings.Contains(strings.Join(shown, "\n"), "hunter2") {
			t.Errorf("%s is shown in\n%s\nwant %s", setting, strings.Join(shown, "\n"), want)
		}
	}
	shown := described(t, "ORDERS_STRIPE_KEY=sk_hunter2", "ORDERS_STRIPE_WEBHOOK_SECRET=whsec_hunter2")
	for _, want := range []string{"ORDERS_STRIPE_KEY=xxxxx", "ORDERS_STRIPE_WEBHOOK_SECRET=xxxxx"} {
		if !slices.Contains(shown, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(shown, "\n"))
		}
	}
}
