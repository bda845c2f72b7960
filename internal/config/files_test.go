package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fileWith returns a file with a text.
func fileWith(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead_ReadsSecretsFromFiles(t *testing.T) {
	t.Parallel()
	const url = "postgres://orders:hunter2@127.0.0.1/orders"
	cfg, err := Read(append(required()[1:],
		"ORDERS_DATABASE_URL_FILE="+fileWith(t, url+"\n"), "ORDERS_DATABASE_STANDBY_URL_FILE="+fileWith(t, url+"\r\n"),
		"ORDERS_NATS_URL_FILE="+fileWith(t, "nats://127.0.0.1,nats://127.0.0.2"),
		"ORDERS_STRIPE_KEY_FILE="+fileWith(t, "sk_1\n"), "ORDERS_STRIPE_WEBHOOK_SECRET_FILE="+fileWith(t, "whsec_1234567890\n")))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DatabaseURL != url || cfg.StandbyURL != url || len(cfg.NATSURLs) != 2 ||
		cfg.StripeKey != "sk_1" || cfg.StripeWebhookSecret != "whsec_1234567890" {
		t.Errorf("read %+v", cfg)
	}
	migration, err := ReadMigration([]string{"ORDERS_DATABASE_URL_FILE=" + fileWith(t, url+"\n")})
	if err != nil || migration.DatabaseURL != url {
		t.Errorf("orders migrate reads %q, err = %v", migration.DatabaseURL, err)
	}
}

func TestRead_RefusesUnusableSecretFiles(t *testing.T) {
	t.Parallel()
	file := fileWith(t, "postgres://orders:hunter2@db/orders")
	for setting, want := range map[string]string{
		"ORDERS_DATABASE_URL_FILE=" + file:                 "ORDERS_DATABASE_URL must not be set together with ORDERS_DATABASE_URL_FILE",
		"ORDERS_STRIPE_KEY_FILE=/nowhere":                  "ORDERS_STRIPE_KEY_FILE must name a readable file: open /nowhere: no such file or directory",
		"ORDERS_NATS_URL_FILE=" + file:                     "ORDERS_NATS_URL must be nats:// URLs",
		"ORDERS_NATS_URL_FILE=" + fileWith(t, `"hunter2"`): "ORDERS_NATS_URL must not be in quotes",
	} {
		_, err := Read(append(required(), setting))
		if err == nil || !strings.Contains(err.Error(), "\n"+want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: err = %v, want one that says %q", setting, err, want)
		}
	}
	if _, err := ReadMigration([]string{"ORDERS_DATABASE_URL_FILE=/nowhere"}); err == nil || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("orders migrate: err = %v, want one problem", err)
	}
}
