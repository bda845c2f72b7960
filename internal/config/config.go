// Package config reads the configuration of a process from its environment. It checks
// all of it before anything starts.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"
)

// TransactionPooler is the DatabasePooler of pgbouncer in transaction mode.
const TransactionPooler = "transaction"

// Config is the configuration of a process. Every field is an environment variable.
type Config struct {
	// Addr is the address of the public API, AdminAddr that of metrics and pprof.
	Addr      string `env:"ORDERS_ADDR" envDefault:"127.0.0.1:8080"`
	AdminAddr string `env:"ORDERS_ADMIN_ADDR" envDefault:"127.0.0.1:9090"`

	// TLSCert and TLSKey are the PEM files of the public listener's certificate. With
	// TLSClientCA, callers with the role system need a certificate of that CA.
	TLSCert     string `env:"ORDERS_TLS_CERT"`
	TLSKey      string `env:"ORDERS_TLS_KEY"`
	TLSClientCA string `env:"ORDERS_TLS_CLIENT_CA"`

	// CORSOrigins are the origins whose pages may call the public API from a browser.
	CORSOrigins []string `env:"ORDERS_CORS_ORIGINS"`

	// AllowInsecure names the protections that this installation does without.
	AllowInsecure []string `env:"ORDERS_ALLOW_INSECURE"`

	DatabaseURL string `env:"ORDERS_DATABASE_URL,unset"`
	// DatabasePooler is what the URL leads to: the server itself, or a pooler that assigns a
	// connection to another client after each transaction.
	DatabasePooler string `env:"ORDERS_DATABASE_POOLER" envDefault:"none"`
	// DatabaseRole is the role that migrations grant the privileges of the service to.
	DatabaseRole string `env:"ORDERS_DATABASE_ROLE" envDefault:"orders_service"`

	JWTIssuer   string `env:"ORDERS_JWT_ISSUER"`
	JWTAudience string `env:"ORDERS_JWT_AUDIENCE"`
	JWKSURL     string `env:"ORDERS_JWKS_URL"`
	RolesClaim  string `env:"ORDERS_ROLES_CLAIM" envDefault:"roles"`
	// JWTTypes are the accepted types of tokens, JWTMaxLifetime is how long after it was
	// issued a token may expire, and JWKSMaxAge how long the keys are trusted while the
	// issuer is silent.
	JWTTypes       []string      `env:"ORDERS_JWT_TYPES" envDefault:"JWT,at+jwt"`
	JWTMaxLifetime time.Duration `env:"ORDERS_JWT_MAX_LIFETIME" envDefault:"24h"`
	JWKSMaxAge     time.Duration `env:"ORDERS_JWKS_MAX_AGE" envDefault:"24h"`

	// IdempotencyTTL is how long the response of a guarded command is kept (AUTH-19: 24
	// to 72 hours), IdempotencyErrorTTL how long a refusal is kept. IdempotencyWait is
	// how long a duplicate waits for the first request.
	IdempotencyTTL      time.Duration `env:"ORDERS_IDEMPOTENCY_TTL" envDefault:"72h"`
	IdempotencyErrorTTL time.Duration `env:"ORDERS_IDEMPOTENCY_ERROR_TTL" envDefault:"6h"`
	IdempotencyWait     time.Duration `env:"ORDERS_IDEMPOTENCY_WAIT" envDefault:"5s"`

	// What one principal may do in this process: new idempotency keys and requests in a
	// minute, and requests in flight. Zero is no limit, and UnlimitedRoles have none.
	KeysPerMinute     int   `env:"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE" envDefault:"600"`
	RequestsPerMinute int   `env:"ORDERS_REQUESTS_PER_MINUTE" envDefault:"6000"`
	InFlight          int   `env:"ORDERS_IN_FLIGHT" envDefault:"64"`
	UnlimitedRoles    Roles `env:"ORDERS_UNLIMITED_ROLES" envDefault:"system"`
	// MaxConnections bounds the open connections of the public listener. Zero is no limit.
	MaxConnections int `env:"ORDERS_MAX_CONNECTIONS" envDefault:"10000"`

	// ReservationTTL is how long stock is reserved for an order that waits for payment.
	ReservationTTL time.Duration `env:"ORDERS_RESERVATION_TTL" envDefault:"15m"`
	// ReservationExtensions bounds how often the reservation of an order is extended, and
	// UnpaidOrders how many unpaid orders of a customer somebody creates; 0 is no bound.
	ReservationExtensions int `env:"ORDERS_RESERVATION_EXTENSIONS" envDefault:"8"`
	UnpaidOrders          int `env:"ORDERS_UNPAID_ORDERS" envDefault:"50"`

	// The account at the card provider. Without a key, cards are not accepted.
	StripeKey           string `env:"ORDERS_STRIPE_KEY,unset"`
	StripeWebhookSecret string `env:"ORDERS_STRIPE_WEBHOOK_SECRET,unset"`
	StripeURL           string `env:"ORDERS_STRIPE_URL" envDefault:"https://api.stripe.com"`

	// NATSURL is the address of the event broker. Without one, events wait in the
	// outbox.
	NATSURL string `env:"ORDERS_NATS_URL,unset"`

	LogLevel  zerolog.Level `env:"ORDERS_LOG_LEVEL" envDefault:"info"`
	LogFormat string        `env:"ORDERS_LOG_FORMAT" envDefault:"json"`
}

// Pooled reports whether a pooler is between the process and the database.
func (c Config) Pooled() bool { return c.DatabasePooler == TransactionPooler }

// Read parses the variables of a process, each "NAME=value". The error names every
// problem on a line of its own, and repeats no value: it may be a secret.
func Read(environ []string) (Config, error) {
	var cfg Config
	unreadable, problems := fieldsOf(env.ParseWithOptions(&cfg, env.Options{Environment: env.ToMap(environ)}))
	problems = append(problems, unknownNames(environ)...)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		rule, ruled := rules[variable(field)]
		if unreadable[field.Name] || (ruled && !rule.holds(cfg)) {
			problems = append(problems, fmt.Errorf("%s must %s", variable(field), rule.must))
		} else {
			problems = append(problems, unsafe(cfg, variable(field))...)
		}
	}
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("invalid configuration:\n%w", errors.Join(problems...))
	}
	return cfg, nil
}

// DatabaseRole returns ORDERS_DATABASE_ROLE, for a command that needs few settings.
func DatabaseRole(environ []string) (string, error) {
	const name = "ORDERS_DATABASE_ROLE"
	var cfg Config
	_ = env.ParseWithOptions(&cfg, env.Options{Environment: env.ToMap(environ)}) // others may be wrong
	if !rules[name].holds(cfg) {
		return "", fmt.Errorf("%s must %s", name, rules[name].must)
	}
	return cfg.DatabaseRole, nil
}

// rule says what a variable must be, and whether a configuration has it so.
type rule struct {
	must  string
	holds func(Config) bool
}

const mustCount = "be a number from 0 to 1000000000, 0 for no limit"

func isCount(n int) bool { return n >= 0 && n <= 1_000_000_000 }

// rules holds the rule of every variable that can be wrong.
var rules = map[string]rule{
	"ORDERS_ADDR":       {"be host:port, such as 127.0.0.1:8080", func(c Config) bool { return isAddr(c.Addr) }},
	"ORDERS_ADMIN_ADDR": {"be host:port, such as 127.0.0.1:9090", func(c Config) bool { return isAddr(c.AdminAddr) }},
	"ORDERS_TLS_CERT": {"be set together with ORDERS_TLS_KEY",
		func(c Config) bool { return (c.TLSCert == "") == (c.TLSKey == "") }},
	"ORDERS_TLS_CLIENT_CA": {"be set together with ORDERS_TLS_CERT and ORDERS_TLS_KEY",
		func(c Config) bool { return c.TLSClientCA == "" || (c.TLSCert != "" && c.TLSKey != "") }},
	"ORDERS_CORS_ORIGINS": {"be a list of origins as browsers send them, separated by commas, such as https://shop.example.com: " +
		"https, or http on loopback; no wildcard, path or default port",
		func(c Config) bool { return !slices.ContainsFunc(c.CORSOrigins, isNoOrigin) }},
	"ORDERS_ALLOW_INSECURE": {"be a list of admin, database and broker, separated by commas",
		func(c Config) bool { return areDangers(c.AllowInsecure) }},
	"ORDERS_DATABASE_URL": {"be a postgres:// URL, with a percent-encoded password", func(c Config) bool { return isPostgres(c.DatabaseURL) }},
	"ORDERS_DATABASE_POOLER": {"be none or transaction",
		func(c Config) bool { return c.DatabasePooler == "none" || c.DatabasePooler == TransactionPooler }},
	"ORDERS_DATABASE_ROLE": {"be the name of a role: small letters, digits and _, and no name that PostgreSQL reserves",
		func(c Config) bool { return isRole(c.DatabaseRole) }},
	"ORDERS_JWT_ISSUER":   {"be the issuer of the tokens, without spaces", func(c Config) bool { return isWord(c.JWTIssuer) }},
	"ORDERS_JWT_AUDIENCE": {"be the audience of the tokens", func(c Config) bool { return c.JWTAudience != "" }},
	"ORDERS_JWKS_URL":     {"be an https URL, or http on loopback", func(c Config) bool { return isSafeURL(c.JWKSURL) }},
	"ORDERS_JWT_TYPES": {"be types of tokens without application/, such as JWT,at+jwt",
		func(c Config) bool { return areSubtypes(c.JWTTypes) }},
	"ORDERS_JWT_MAX_LIFETIME": {"be a duration between 1m and 720h, such as 24h",
		func(c Config) bool { return within(c.JWTMaxLifetime, time.Minute, 720*time.Hour) }},
	"ORDERS_JWKS_MAX_AGE": {"be a duration between 15m and 720h, such as 24h",
		func(c Config) bool { return within(c.JWKSMaxAge, 15*time.Minute, 720*time.Hour) }},
	"ORDERS_IDEMPOTENCY_TTL": {"be a duration between 24h and 72h, such as 48h",
		func(c Config) bool { return within(c.IdempotencyTTL, 24*time.Hour, 72*time.Hour) }},
	"ORDERS_IDEMPOTENCY_ERROR_TTL": {"be a duration between 1m and 72h, such as 6h",
		func(c Config) bool { return within(c.IdempotencyErrorTTL, time.Minute, 72*time.Hour) }},
	"ORDERS_IDEMPOTENCY_WAIT": {"be a duration between 0s and 30s, such as 5s",
		func(c Config) bool { return within(c.IdempotencyWait, 0, 30*time.Second) }},
	"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE": {mustCount, func(c Config) bool { return isCount(c.KeysPerMinute) }},
	"ORDERS_REQUESTS_PER_MINUTE":         {mustCount, func(c Config) bool { return isCount(c.RequestsPerMinute) }},
	"ORDERS_IN_FLIGHT":                   {mustCount, func(c Config) bool { return isCount(c.InFlight) }},
	"ORDERS_UNLIMITED_ROLES": {"be none, or roles out of customer, seller, admin and system, separated by commas",
		func(Config) bool { return true }}, // what cannot be parsed is no role
	"ORDERS_MAX_CONNECTIONS": {mustCount, func(c Config) bool { return isCount(c.MaxConnections) }},
	"ORDERS_RESERVATION_TTL": {"be a duration between 1s and 24h, such as 15m",
		func(c Config) bool { return within(c.ReservationTTL, time.Second, 24*time.Hour) }},
	"ORDERS_RESERVATION_EXTENSIONS": {"be a number between 0, for no bound, and 1000000",
		func(c Config) bool { return isBound(c.ReservationExtensions) }},
	"ORDERS_UNPAID_ORDERS": {"be a number between 0, for no bound, and 1000000",
		func(c Config) bool { return isBound(c.UnpaidOrders) }},
	"ORDERS_STRIPE_KEY": {"be set together with ORDERS_STRIPE_WEBHOOK_SECRET",
		func(c Config) bool { return (c.StripeKey == "") == (c.StripeWebhookSecret == "") }},
	"ORDERS_STRIPE_URL": {"be an https URL, or http on loopback", func(c Config) bool { return isSafeURL(c.StripeURL) }},
	"ORDERS_NATS_URL": {"be a nats:// or tls:// URL",
		func(c Config) bool { return c.NATSURL == "" || isNATS(c.NATSURL) }},
	"ORDERS_LOG_LEVEL": {"be trace, debug, info, warn, error, fatal, panic or disabled",
		func(c Config) bool { return c.LogLevel >= zerolog.TraceLevel && c.LogLevel <= zerolog.Disabled }},
	"ORDERS_LOG_FORMAT": {"be json or console",
		func(c Config) bool { return c.LogFormat == "json" || c.LogFormat == "console" }},
}

// fieldsOf returns the fields whose values could not be parsed, and all other errors.
func fieldsOf(err error) (unparsed map[string]bool, others []error) {
	several, _ := errors.AsType[env.AggregateError](err)
	unparsed = map[string]bool{}
	for _, one := range several.Errors {
		if field, ok := errors.AsType[env.ParseError](one); ok {
			unparsed[field.Name] = true
		} else {
			others = append(others, one)
		}
	}
	return unparsed, others
}

func within(d, from, to time.Duration) bool { return d >= from && d <= to }

func isBound(n int) bool { return n >= 0 && n <= 1_000_000 }

func isWord(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\r\n") }

// areSubtypes reports whether all names are what follows the slash of a media type (RFC
// 6838, section 4.2).
func areSubtypes(names []string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&-^_.+"
	return !slices.ContainsFunc(names, func(name string) bool {
		return name == "" || strings.Trim(name, letters) != ""
	})
}

func isAddr(addr string) bool {
	_, _, err := net.SplitHostPort(addr)
	return err == nil
}

// isPostgres refuses a second @: a password with an unescaped @ or slash would end in the name
// of the host or of the database, which errors of the connection repeat.
func isPostgres(s string) bool {
	u, err := url.Parse(s)
	server, _, _ := strings.Cut(s, "?")
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && strings.Count(server, "@") <= 1 &&
		!strings.Contains(u.Path, "@")
}

var roleName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// isRole reports whether a name needs no quotes and names one role. To grant something to
// public would grant it to all.
func isRole(name string) bool {
	return roleName.MatchString(name) && !strings.HasPrefix(name, "pg_") &&
		!slices.Contains([]string{"public", "none", "current_role", "current_user", "session_user", "user"}, name)
}

// isNATS reports whether s is one broker URL. The library would take a comma as the
// beginning of another one.
func isNATS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "nats" || u.Scheme == "tls") && u.Hostname() != "" && !strings.Contains(s, ",")
}

// isSafeURL reports whether nobody on the network can read or change what is sent.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || (u.Scheme == "http" && isLoopback(u.Hostname()))
}

// originPattern is the form in which browsers send an origin: lower case, and nothing that
// the CORS library would take for a wildcard.
var originPattern = regexp.MustCompile(`^https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?$`)

// isNoOrigin reports whether no browser sends s as an origin, or one that nobody should
// trust.
func isNoOrigin(s string) bool {
	u, err := url.Parse(s)
	return err != nil || !originPattern.MatchString(s) || !isSafeURL(s) ||
		(u.Scheme == "https" && u.Port() == "443") || (u.Scheme == "http" && u.Port() == "80")
}

// isLoopback reports whether only this machine reaches a host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
