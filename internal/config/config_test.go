package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/core"
)

// required returns the variables that must be set.
func required() []string {
	return []string{
		"ORDERS_DATABASE_URL=postgres://orders@db/orders?sslmode=verify-full",
		"ORDERS_JWT_ISSUER=https://issuer.example",
		"ORDERS_JWT_AUDIENCE=orders",
		"ORDERS_JWKS_URL=https://issuer.example/keys",
	}
}

// defaults returns the configuration when only the required variables are set.
func defaults() Config {
	return Config{
		Addr: "127.0.0.1:8080", AdminAddr: "127.0.0.1:9090", DrainDelay: time.Second,
		DatabaseURL: "postgres://orders@db/orders?sslmode=verify-full", DatabasePooler: "none",
		JWTIssuer: "https://issuer.example", JWTAudience: "orders", JWKSURL: "https://issuer.example/keys", RolesClaim: "roles",
		RolesMap: []string{"customer=customer", "seller=seller", "admin=admin", "system=system"},
		JWTTypes: []string{"JWT", "at+jwt"}, JWTMaxLifetime: 24 * time.Hour,
		IdempotencyTTL: 72 * time.Hour, IdempotencyErrorTTL: 6 * time.Hour, IdempotencyWait: 5 * time.Second,
		KeysPerMinute: 600, RequestsPerMinute: 6000, InFlight: 64, CommandLanes: 2, UnlimitedRoles: Roles{core.System},
		ReservationTTL: 15 * time.Minute, ReservationExtensions: 8, UnpaidOrders: 50,
		StripeURL: "https://api.stripe.com", NATSReplicas: 1, Outbox: "relay",
		LogLevel: zerolog.InfoLevel, LogFormat: "json",
	}
}

// allEmpty returns the required variables and, empty, all others.
func allEmpty() []string {
	environ := required()
	for _, name := range variables() {
		isSet := func(variable string) bool { return strings.HasPrefix(variable, name+"=") }
		if !slices.ContainsFunc(environ, isSet) {
			environ = append(environ, name+"=")
		}
	}
	return environ
}

func TestRead_FillsInDefaults(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"absent":       required(),
		"empty":        allEmpty(),
		"among others": append(required(), "PATH=/bin", "HOME=", "odd", "ORDERLY=1", "orders_addr=1"),
	} {
		got, err := Read(environ)
		if diff := cmp.Diff(defaults(), got); err != nil || diff != "" {
			t.Errorf("%s: %v, defaults (-want +got):\n%s", name, err, diff)
		}
	}
}

// changes are settings, and how each changes the defaults.
var changes = []struct {
	setting string
	change  func(*Config)
}{
	{"ORDERS_ADDR=:80", func(c *Config) { c.Addr = ":80" }},
	{"ORDERS_ADDR=[fe80::1%eth0]:9", func(c *Config) { c.Addr = "[fe80::1%eth0]:9" }},
	{"ORDERS_ADMIN_ADDR=[::1]:9", func(c *Config) { c.AdminAddr = "[::1]:9" }},
	{"ORDERS_DRAIN_DELAY=1m", func(c *Config) { c.DrainDelay = time.Minute }},
	{"ORDERS_DRAIN_DELAY=0s", func(c *Config) { c.DrainDelay = 0 }},
	{"ORDERS_DATABASE_URL=postgresql://h/d?sslmode=require", func(c *Config) { c.DatabaseURL = "postgresql://h/d?sslmode=require" }},
	{"ORDERS_DATABASE_URL=postgres://orders:word@a:1,[::1]:2,b/orders?sslmode=require", func(c *Config) { c.DatabaseURL = "postgres://orders:word@a:1,[::1]:2,b/orders?sslmode=require" }},
	{"ORDERS_DATABASE_URL=postgres://orders:word@a:1,[::1]:2,b/orders?sslmode=require", func(c *Config) { c.DatabaseURL = "postgres://orders:word@a:1,[::1]:2,b/orders?sslmode=require" }},
	{"ORDERS_OTLP_ENDPOINT=https://collector/otlp", func(c *Config) { c.OTLPEndpoint = "https://collector/otlp" }},
	{"ORDERS_OTLP_ENDPOINT=http://127.0.0.1:4318", func(c *Config) { c.OTLPEndpoint = "http://127.0.0.1:4318" }},
	{"ORDERS_NATS_URL=nats://user:word@127.0.0.1:4222", func(c *Config) { c.NATSURLs = []string{"nats://user:word@127.0.0.1:4222"} }},
	{"ORDERS_NATS_URL=tls://user:word@a,tls://other:word@b:4223,tls://token@c/", func(c *Config) {
		c.NATSURLs = []string{"tls://user:word@a", "tls://other:word@b:4223", "tls://token@c/"}
	}},
	{"ORDERS_NATS_CREDENTIALS=/etc/orders.creds", func(c *Config) { c.NATSCredentials = "/etc/orders.creds" }},
	{"ORDERS_OUTBOX=external", func(c *Config) { c.Outbox = ExternalOutbox }},
	{"ORDERS_NATS_REPLICAS=3", func(c *Config) { c.NATSReplicas = 3 }},
	{"ORDERS_CORS_ORIGINS=https://a.example:8443,http://localhost:3000,http://[::1]:3000", func(c *Config) {
		c.CORSOrigins = []string{"https://a.example:8443", "http://localhost:3000", "http://[::1]:3000"}
	}},
	{"ORDERS_ALLOW_INSECURE=admin,broker", func(c *Config) { c.AllowInsecure = []string{"admin", "broker"} }},
	{"ORDERS_DATABASE_POOLER=transaction", func(c *Config) { c.DatabasePooler = "transaction" }},
	{"ORDERS_ROLES_CLAIM=realm_access.roles", func(c *Config) { c.RolesClaim = "realm_access.roles" }},
	{"ORDERS_ROLES_CLAIM=https://shop.example/roles", func(c *Config) { c.RolesClaim = "https://shop.example/roles" }},
	{"ORDERS_ROLES_MAP=customer=orders-customer|Customer,seller=Shop staff,customer=a=b", func(c *Config) {
		c.RolesMap = []string{"customer=orders-customer|Customer", "seller=Shop staff", "customer=a=b"}
	}},
	{"ORDERS_JWKS_URL=http://127.0.0.1:1/k", func(c *Config) { c.JWKSURL = "http://127.0.0.1:1/k" }},
	{"ORDERS_JWKS_URL=http://[::1]:1/k", func(c *Config) { c.JWKSURL = "http://[::1]:1/k" }},
	{"ORDERS_JWT_TYPES=at+jwt", func(c *Config) { c.JWTTypes = []string{"at+jwt"} }},
	{"ORDERS_JWT_MAX_LIFETIME=720h", func(c *Config) { c.JWTMaxLifetime = 720 * time.Hour }},
	{"ORDERS_JWT_MAX_LIFETIME=1m", func(c *Config) { c.JWTMaxLifetime = time.Minute }},
	{"ORDERS_IDEMPOTENCY_TTL=24h", func(c *Config) { c.IdempotencyTTL = 24 * time.Hour }},
	{"ORDERS_IDEMPOTENCY_ERROR_TTL=1m", func(c *Config) { c.IdempotencyErrorTTL = time.Minute }},
	{"ORDERS_IDEMPOTENCY_WAIT=30s", func(c *Config) { c.IdempotencyWait = 30 * time.Second }},
	{"ORDERS_IDEMPOTENCY_WAIT=0s", func(c *Config) { c.IdempotencyWait = 0 }},
	{"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=0", func(c *Config) { c.KeysPerMinute = 0 }},
	{"ORDERS_REQUESTS_PER_MINUTE=1000000000", func(c *Config) { c.RequestsPerMinute = 1_000_000_000 }},
	{"ORDERS_COMMAND_LANES=0", func(c *Config) { c.CommandLanes = 0 }},
	{"ORDERS_IN_FLIGHT=1", func(c *Config) { c.InFlight = 1 }},
	{"ORDERS_UNLIMITED_ROLES=none", func(c *Config) { c.UnlimitedRoles = nil }},
	{"ORDERS_UNLIMITED_ROLES=admin, system", func(c *Config) { c.UnlimitedRoles = Roles{core.Admin, core.System} }},
	{"ORDERS_RESERVATION_TTL=1s", func(c *Config) { c.ReservationTTL = time.Second }},
	{"ORDERS_RESERVATION_EXTENSIONS=0", func(c *Config) { c.ReservationExtensions = 0 }},
	{"ORDERS_UNPAID_ORDERS=1000000", func(c *Config) { c.UnpaidOrders = 1_000_000 }},
	{"ORDERS_STRIPE_URL=http://127.0.0.1:1", func(c *Config) { c.StripeURL = "http://127.0.0.1:1" }},
	{"ORDERS_LOG_LEVEL=debug", func(c *Config) { c.LogLevel = zerolog.DebugLevel }},
	{"ORDERS_LOG_FORMAT=console", func(c *Config) { c.LogFormat = "console" }},
}

func TestRead_UsesWhatIsSet(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.setting, func(t *testing.T) {
			t.Parallel()
			want := defaults()
			c.change(&want)
			got, err := Read(append(required(), c.setting))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

// invalidValues are values that each setting refuses.
var invalidValues = map[string][]string{
	"ORDERS_ADDR":            {"8080", "localhost", "a:b:c"},
	"ORDERS_ADMIN_ADDR":      {"9090", "127.0.0.1:", ":", ":http", ":65536", ":-1", ":9090/", ":9090?", ":9090#", "user@h:9090", "h/x:9090", "h?x:9090", "h#x:9090", " h:9090", "h\\x:9090", "http://h:9090"},
	"ORDERS_DRAIN_DELAY":     {"-1s", "61s", "1"},
	"ORDERS_DATABASE_URL":    {"", "db", "mysql://h/d", "host=h dbname=d", "://", "postgres://u:p@ss@h/d", "postgres://u:1/ss@h/d"},
	"ORDERS_TLS_CERT":        {"tls.crt"},
	"ORDERS_TLS_KEY":         {"tls.key"},
	"ORDERS_TLS_CLIENT_CA":   {"ca.crt"},
	"ORDERS_DATABASE_POOLER": {"session", "true"},
	"ORDERS_JWT_ISSUER":      {"", "two words", "a\tb"},
	"ORDERS_JWT_AUDIENCE":    {"", " ", " shop", "shop\n"},
	"ORDERS_JWT_CLIENTS":     {"web"}, // beside an audience; without, see TestRead_RequiresAudienceOrClients
	"ORDERS_ROLES_MAP": {"customer", "customer=", "customer=a,", "customer=|a", "customer=a||b", "customer= a", "buyer=customer", "Customer=a",
		" seller=a", "customer=a,seller=a", "customer=a|a", "customer=a,root=b", "=a", ","},
	"ORDERS_ROLES_CLAIM":                 {"...", ".", "roles.", ".roles", "realm_access..roles", " ", "two words"},
	"ORDERS_JWKS_URL":                    {"", "issuer.example", "http://issuer.example/keys", "http://127.0.0.1.example/keys", "http://localhost.example/keys", "http://0.0.0.0/keys", "file:///keys", "https://", "ftp://127.0.0.1/keys"},
	"ORDERS_JWT_TYPES":                   {",", "JWT,", "JWT, at+jwt", "application/at+jwt", "JWT;v=1", "at jwt"},
	"ORDERS_JWT_MAX_LIFETIME":            {"59s", "0", "721h", "-24h", "24"},
	"ORDERS_IDEMPOTENCY_TTL":             {"23h59m59s", "72h0m1s", "0", "-24h", "48", "a day"},
	"ORDERS_IDEMPOTENCY_ERROR_TTL":       {"59s", "73h", "6"},
	"ORDERS_IDEMPOTENCY_WAIT":            {"-1s", "31s", "soon"},
	"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE": {"-1", "1.5", "many", "1000000001"},
	"ORDERS_REQUESTS_PER_MINUTE":         {"-1", "10s"},
	"ORDERS_COMMAND_LANES":               {"-1", "two"},
	"ORDERS_IN_FLIGHT":                   {"-1", "none"},
	"ORDERS_UNLIMITED_ROLES":             {"root", "system,root", "system,none", "system,", ",", "System"},
	"ORDERS_RESERVATION_TTL":             {"0s", "999ms", "25h", "-15m"},
	"ORDERS_RESERVATION_EXTENSIONS":      {"-1", "1000001", "eight"},
	"ORDERS_UNPAID_ORDERS":               {"-1", "1000001", "1.5"},
	"ORDERS_STRIPE_KEY":                  {"sk_without_a_secret"},
	"ORDERS_STRIPE_WEBHOOK_SECRET":       {"whsec_without_a_key"}, // with a key, see TestRead_RefusesShortWebhookSecrets
	"ORDERS_STRIPE_URL":                  {"http://provider.example", "provider.example"},
	"ORDERS_NATS_URL":                    {"broker:4222", "http://broker", "nats://", "tls://user:word@a,nats://127.0.0.1", "nats://127.0.0.1,", "nats://127.0.0.1, nats://127.0.0.2", "tls://user:wo,rd@a", "tls://user:1/rd@a", "tls://user:1?rd@a", "tls://user:1#rd@a", "nats://127.0.0.1,127.0.0.2"},
	"ORDERS_OUTBOX":                      {"debezium", "none", "External"},
	"ORDERS_NATS_REPLICAS":               {"0", "2", "4", "7", "-1", "three"},
	"ORDERS_CORS_ORIGINS": {"*", "null", "https://*.example.com", "https://", "shop.example.com", "https://shop.example.com/", "https://shop.example.com/path",
		"https://shop.example.com?q", "https://user@shop.example.com", "https://Shop.example.com", "https://shop.example.com:443",
		"http://shop.example.com", "http://localhost:80", "https://a.example,", "https://a.example, https://b.example", "https://a.example,*",
		"file://shop", "https://shop.example.com:port", "https://shop.example.com#"},
	"ORDERS_ALLOW_INSECURE": {"all", "admin,", "admin, broker", "true", "Admin"},
	"ORDERS_OTLP_ENDPOINT":  {"collector:4318", "grpc://127.0.0.1:4317", "http://", "https://user:word@collector", "https://collector?key=word", "https://collector/#a"},
	"ORDERS_LOG_LEVEL":      {"loud"},
	"ORDERS_LOG_FORMAT":     {"xml", "JSON"},
}

func TestRead_RejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for name, values := range invalidValues {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				t.Parallel()
				// A trusted network leaves only the rule of the setting to refuse the value.
				_, err := Read(append(required(), "ORDERS_ALLOW_INSECURE=admin,database,broker,traces", name+"="+value))
				if err == nil {
					t.Fatal("no error")
				}
				_, problems, _ := strings.Cut(err.Error(), "\n")
				rule := regexp.MustCompile(`^ORDERS_[A-Z_]+ must [a-z][^\n]+$`)
				if !strings.Contains(problems, name) || !rule.MatchString(problems) {
					t.Errorf("%q does not say in one line what %s must be", problems, name)
				}
			})
		}
	}
}

func TestRead_RequiresAudienceOrClients(t *testing.T) {
	t.Parallel()
	for clients, refused := range map[string]bool{"": true, "web": false, "web,https://shop.example": false, "web,": true, "web, app": true} {
		cfg, err := Read(append(required(), "ORDERS_JWT_AUDIENCE=", "ORDERS_JWT_CLIENTS="+clients))
		if (err != nil) != refused || err != nil && strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%q: err = %v, refused should be %t", clients, err, refused)
		}
		if want := strings.Split(clients, ","); !refused && !slices.Equal(cfg.JWTClients, want) {
			t.Errorf("%q: the clients are %q", clients, cfg.JWTClients)
		}
	}
}

func TestRoleNames_GrantsWhatTheMapLists(t *testing.T) {
	t.Parallel()
	cfg, err := Read(append(required(), "ORDERS_ROLES_MAP=customer=orders-customer|Customer,seller=Shop staff"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]core.Role{"orders-customer": core.Customer, "Customer": core.Customer, "Shop staff": core.Seller}
	if diff := cmp.Diff(want, cfg.RoleNames()); diff != "" {
		t.Errorf("roles by name (-want +got):\n%s", diff)
	}
}

func TestRead_RefusesShortWebhookSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secret  string
		refused bool
	}{{"x", true}, {"whsec_short", true}, {" whsec_double", true}, {"whsec_double", false}} {
		secret, refused := c.secret, c.refused
		_, err := Read(append(required(), "ORDERS_STRIPE_KEY=sk", "ORDERS_STRIPE_WEBHOOK_SECRET="+secret))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "ORDERS_STRIPE_WEBHOOK_SECRET must be") {
			t.Errorf("%q: err = %v, refused should be %t", secret, err, refused)
		}
	}
}

// A shell takes quotes away; `docker run --env-file` and others keep them.
func TestRead_RefusesValuesInQuotes(t *testing.T) {
	t.Parallel()
	for _, setting := range append(required(), "ORDERS_LOG_FORMAT=json", "ORDERS_IN_FLIGHT=7", "ORDERS_STRIPE_KEY=hunter2", "ORDERS_TLS_CERT=tls.crt") {
		name, value, _ := strings.Cut(setting, "=")
		for _, quote := range []string{`"`, `'`} {
			environ := append(required(), name+"="+quote+value+quote)
			_, err := Read(environ)
			want := "\n" + name + " must not be in quotes, which are part of the value here: write " + name + "=value"
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s in %s: err = %v", name, quote, err)
			}
		}
	}
	if _, err := ReadDatabase([]string{`ORDERS_DATABASE_URL="postgres://127.0.0.1/orders"`}); err == nil {
		t.Error("orders migrate accepts quotes")
	}
}

// Somebody who configures a new installation must not have to start it once for each
// mistake.
func TestRead_NamesEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Read([]string{"ORDERS_IDEMPOTENCY_TTL=1h", "ORDERS_JWKS_URL=http://issuer.example", "ORDERS_LOG_FORMAT=xml", "ORDERS_ADDR=8080"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{
		"ORDERS_DATABASE_URL", "ORDERS_JWT_ISSUER", "ORDERS_JWT_AUDIENCE", "ORDERS_IDEMPOTENCY_TTL", "ORDERS_JWKS_URL", "ORDERS_LOG_FORMAT", "ORDERS_ADDR",
	} {
		lines := 0
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, name+" must ") {
				lines++
			}
		}
		if lines != 1 {
			t.Errorf("%d lines name %s, want 1:\n%v", lines, name, err)
		}
	}
}

// The password in a URL that is rejected must not get into a log.
func TestRead_DoesNotRepeatSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mysql://orders:hunter2@db/orders", "postgres://orders:hunter2@db/%zz", "postgres://orders:hunter2\x7f@db", "postgres://orders:hunter2@db/orders"} {
		_, err := Read(append(required(), "ORDERS_DATABASE_URL="+url))
		if err == nil || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, urls := range []string{"nats://orders:hunter2@a,nats://orders:hunter2@b", "tls://a,tls://orders:hunter2@b:port", "tls://orders:hunter,2@b"} {
		_, err := Read(append(required(), "ORDERS_NATS_URL="+urls))
		if err == nil || strings.Contains(fmt.Sprint(err), "hunter") {
			t.Errorf("%q: %v", urls, err)
		}
	}
}

// A value that is refused without its rule would leave the operator to guess.
func TestRules_CoverEveryVariableThatIsParsed(t *testing.T) {
	t.Parallel()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		_, ruled := rules[variable(field)]
		if field.Type.Kind() != reflect.String && !ruled {
			t.Errorf("nothing says what %s must be", variable(field))
		}
	}
	for name := range rules {
		if !slices.Contains(variables(), name) {
			t.Errorf("there is a rule for %s, and no such variable", name)
		}
	}
}

func TestRead_RefusesUnknownVariables(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"ORDERS_IDEMPOTENCY_TLL=1h":           "ORDERS_IDEMPOTENCY_TLL is no setting; do you mean ORDERS_IDEMPOTENCY_TTL?",
		"ORDERS_DATABSE_URL=":                 "ORDERS_DATABSE_URL is no setting; do you mean ORDERS_DATABASE_URL?",
		"ORDERS_STRIPE_KEYS=sk_hunter2":       "ORDERS_STRIPE_KEYS is no setting; do you mean ORDERS_STRIPE_KEY?",
		"ORDERS_LOGLEVEL=debug":               "ORDERS_LOGLEVEL is no setting; do you mean ORDERS_LOG_LEVEL?",
		"ORDERS_Addr=:80":                     "ORDERS_Addr is no setting; do you mean ORDERS_ADDR?",
		"ORDERS_STRIPE_KEY_FIL=/sk":           "ORDERS_STRIPE_KEY_FIL is no setting; do you mean ORDERS_STRIPE_KEY_FILE?",
		"ORDERS_URL_DATABASE=":                "ORDERS_URL_DATABASE is no setting; do you mean ORDERS_DATABASE_URL?",
		"ORDERS_TTL_IDEMPOTENCY=1h":           "ORDERS_TTL_IDEMPOTENCY is no setting; do you mean ORDERS_IDEMPOTENCY_TTL?",
		"ORDERS_TTL_IDEMPOTENSY=1h":           "ORDERS_TTL_IDEMPOTENSY is no setting; do you mean ORDERS_IDEMPOTENCY_TTL?",
		"ORDERS_url_Database=":                "ORDERS_url_Database is no setting; do you mean ORDERS_DATABASE_URL?",
		"ORDERS_DB_URL=":                      "ORDERS_DB_URL is no setting; do you mean ORDERS_DATABASE_URL?",
		"ORDERS_URL_DB_FILE=/url":             "ORDERS_URL_DB_FILE is no setting; do you mean ORDERS_DATABASE_URL_FILE?",
		"ORDERS_EXT_RES=5":                    "ORDERS_EXT_RES is no setting; do you mean ORDERS_RESERVATION_EXTENSIONS?",
		"ORDERS_JWT_AUD=orders":               "ORDERS_JWT_AUD is no setting; do you mean ORDERS_JWT_AUDIENCE?",
		"ORDERS_KEYS_PER_MINUTE=1":            "ORDERS_KEYS_PER_MINUTE is no setting",
		"ORDERS_CB_URL=":                      "ORDERS_CB_URL is no setting",
		"ORDERS_ADDR_FILE=/addr":              "ORDERS_ADDR_FILE is no setting",
		"ORDERS_COFFEE_MACHINE=hunter2":       "ORDERS_COFFEE_MACHINE is no setting",
		"ORDERS_=hunter2":                     "ORDERS_ is no setting",
		"ORDERS_DATABASE_STANDBY_URL=hunter2": "ORDERS_DATABASE_STANDBY_URL was removed: the primary serves all reads",
		"ORDERS_DATABASE_STANDBY_URL_FILE=/x": "ORDERS_DATABASE_STANDBY_URL_FILE was removed: the primary serves all reads",
		"ORDERS_DATABASE_ROLE=shop":           "ORDERS_DATABASE_ROLE was removed: the role is orders_service",
		"ORDERS_DATABASE_OPERATOR_ROLE=shop":  "ORDERS_DATABASE_OPERATOR_ROLE was removed: the role is orders_operator",
		"ORDERS_JWKS_MAX_AGE=48h":             "ORDERS_JWKS_MAX_AGE was removed: keys are trusted for a day while the issuer publishes none",
		"ORDERS_MAX_CONNECTIONS=0":            "ORDERS_MAX_CONNECTIONS was removed: 10000 connections stay open, and more wait",
		"ORDERS_NATS_CA=/ca.pem":              "ORDERS_NATS_CA was removed: SSL_CERT_FILE names the private CAs",
		"ORDERS_NATS_CERT=/orders.crt":        "ORDERS_NATS_CERT was removed: ORDERS_NATS_CREDENTIALS identifies the service at the broker",
		"ORDERS_NATS_KEY=/orders.key":         "ORDERS_NATS_KEY was removed: ORDERS_NATS_CREDENTIALS identifies the service at the broker",
		"ORDERS_TEST_POSTGRES_URL=secret":     "ORDERS_TEST_POSTGRES_URL is no setting",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			_, err := Read(append(required(), setting))
			if err == nil || err.Error() != "invalid configuration:\n"+want {
				t.Errorf("err = %v\nwant one that says %q", err, want)
			}
			_, err = ReadDatabase([]string{setting, "PATH=/bin", "ORDERS_DATABASE_URL=postgres://127.0.0.1/orders"})
			if err == nil || err.Error() != want {
				t.Errorf("ReadDatabase: %v, want %q", err, want)
			}
		})
	}
}

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
		"ORDERS_DATABASE_URL_FILE="+fileWith(t, url+"\r\n"),
		"ORDERS_NATS_URL_FILE="+fileWith(t, "nats://127.0.0.1,nats://127.0.0.2"),
		"ORDERS_STRIPE_KEY_FILE="+fileWith(t, "sk_1\n"), "ORDERS_STRIPE_WEBHOOK_SECRET_FILE="+fileWith(t, "whsec_1234567890\n")))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DatabaseURL != url || len(cfg.NATSURLs) != 2 ||
		cfg.StripeKey != "sk_1" || cfg.StripeWebhookSecret != "whsec_1234567890" {
		t.Errorf("read %+v", cfg)
	}
	migration, err := ReadDatabase([]string{"ORDERS_DATABASE_URL_FILE=" + fileWith(t, url+"\n")})
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
	if _, err := ReadDatabase([]string{"ORDERS_DATABASE_URL_FILE=/nowhere"}); err == nil || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("orders migrate: err = %v, want one problem", err)
	}
}

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
	for url, want := range map[string]string{
		"postgres://orders_app:hunter2@db/orders?sslmode=verify-full&sslrootcert=/etc/ca.pem&pool_max_conns=17": "postgres://orders_app:xxxxx@db/orders?pool_max_conns=17&sslmode=verify-full&sslrootcert=/etc/ca.pem",
		"postgres://orders_app@/orders?host=/run/postgresql&port=5433":                                          "postgres://orders_app@/orders?host=/run/postgresql&port=5433",
		"postgres:///orders?host=/run/postgresql&user=orders_app&sslpassword=hunter2":                           "postgres:///orders?host=/run/postgresql&user=orders_app",
	} {
		if shown := described(t, "ORDERS_DATABASE_URL="+url); !slices.Contains(shown, "ORDERS_DATABASE_URL="+want) {
			t.Errorf("%s is shown in\n%s\nwant %s", url, strings.Join(shown, "\n"), want)
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
