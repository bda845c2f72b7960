// Package config reads the configuration of a process from its environment. It checks
// all of it before anything starts.
package config

import (
	"errors"
	"fmt"
	"reflect"
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
	// DrainDelay is how long a process that stops reports "not ready" before it closes its
	// ports, so that balancers have time to send requests elsewhere.
	DrainDelay time.Duration `env:"ORDERS_DRAIN_DELAY" envDefault:"1s"`

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
	// StandbyURL leads to a standby, which serves reads that may be old by StandbyStaleness.
	// Without one, the primary serves all reads.
	StandbyURL       string        `env:"ORDERS_DATABASE_STANDBY_URL,unset"`
	StandbyStaleness time.Duration `env:"ORDERS_DATABASE_STANDBY_STALENESS" envDefault:"1s"`
	// DatabasePooler is what the URLs lead to: the server itself, or a pooler that assigns a
	// connection to another client after each transaction.
	DatabasePooler string `env:"ORDERS_DATABASE_POOLER" envDefault:"none"`
	// CommandLanes is how many commands run at the same time before others wait and share a
	// transaction. Zero lets each run in a transaction of its own.
	CommandLanes int `env:"ORDERS_COMMAND_LANES" envDefault:"2"`
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
	// to 72 hours), IdempotencyErrorTTL how long a refusal is replayed. IdempotencyWait is
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

	// NATSURLs are the addresses of the servers of the event broker. Without one, events
	// wait in the outbox. NATSReplicas is how many servers keep each message.
	NATSURLs     []string `env:"ORDERS_NATS_URL,unset"`
	NATSReplicas int      `env:"ORDERS_NATS_REPLICAS" envDefault:"1"`

	// OTLPEndpoint is the address of the collector of traces. Without one, nothing is traced.
	OTLPEndpoint string `env:"ORDERS_OTLP_ENDPOINT"`

	LogLevel  zerolog.Level `env:"ORDERS_LOG_LEVEL" envDefault:"info"`
	LogFormat string        `env:"ORDERS_LOG_FORMAT" envDefault:"json"`
}

// Pooled reports whether a pooler is between the process and the database.
func (c Config) Pooled() bool { return c.DatabasePooler == TransactionPooler }

// Read parses the variables of a process, each "NAME=value". The error names every
// problem on a line of its own, and repeats no value: it may be a secret.
func Read(environ []string) (Config, error) {
	var cfg Config
	set := env.ToMap(environ)
	unreadable, problems := fieldsOf(env.ParseWithOptions(&cfg, env.Options{Environment: set}))
	problems = append(problems, unknownNames(environ)...)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		rule, ruled := rules[variable(field)]
		switch {
		case isQuoted(set[variable(field)]):
			problems = append(problems, quoted(variable(field)))
		case unreadable[field.Name] || (ruled && !rule.holds(cfg)):
			problems = append(problems, fmt.Errorf("%s must %s", variable(field), rule.must))
		default:
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
	cfg, err := readOne("ORDERS_DATABASE_ROLE", environ)
	return cfg.DatabaseRole, err
}

// AdminAddr returns ORDERS_ADMIN_ADDR, for a command that needs no other setting.
func AdminAddr(environ []string) (string, error) {
	cfg, err := readOne("ORDERS_ADMIN_ADDR", environ)
	return cfg.AdminAddr, err
}

// readOne returns a configuration in which one variable is what it must be.
func readOne(name string, environ []string) (Config, error) {
	var cfg Config
	set := env.ToMap(environ)
	_ = env.ParseWithOptions(&cfg, env.Options{Environment: set}) // others may be wrong
	switch {
	case isQuoted(set[name]):
		return Config{}, quoted(name)
	case !rules[name].holds(cfg):
		return Config{}, fmt.Errorf("%s must %s", name, rules[name].must)
	}
	return cfg, nil
}

// isQuoted reports whether a value has the quotes that a shell would have taken away. The
// files of Docker and systemd keep some.
func isQuoted(value string) bool {
	return len(value) >= 2 && strings.ContainsAny(value[:1], `"'`) && value[0] == value[len(value)-1]
}

func quoted(name string) error {
	return fmt.Errorf("%s must not be in quotes, which are part of the value here: write %[1]s=value", name)
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
