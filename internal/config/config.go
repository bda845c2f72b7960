// Package config reads a process's configuration from its environment, and checks all
// of it before anything starts.
package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"
)

const (
	// TransactionPooler is the DatabasePooler for pgbouncer in transaction mode.
	TransactionPooler = "transaction"
	// ExternalOutbox is the Outbox that another program publishes.
	ExternalOutbox = "external"
)

// Config is the configuration of a process. Every field is an environment variable, and
// docs/configuration.md is generated from the comments. The tag group begins a group of
// the page.
type Config struct {
	// Addr is the public listener.
	Addr string `env:"ORDERS_ADDR" envDefault:"127.0.0.1:8080" group:"Every installation"`
	// AdminAddr is the listener for metrics, health checks and pprof. Other addresses than
	// loopback need ORDERS_ALLOW_INSECURE.
	AdminAddr string `env:"ORDERS_ADMIN_ADDR" envDefault:"127.0.0.1:9090"`
	// AllowInsecure lists the protections that this installation does without.
	AllowInsecure []string `env:"ORDERS_ALLOW_INSECURE"`

	// DatabaseURL is the PostgreSQL URL, with one host or several; pool_max_conns=… sets the
	// pool size. orders serve and orders migrate connect as two different roles.
	DatabaseURL string `env:"ORDERS_DATABASE_URL,unset"`

	// JWTIssuer is the issuer that tokens must name.
	JWTIssuer string `env:"ORDERS_JWT_ISSUER"`
	// JWTAudience is the audience that tokens must name.
	JWTAudience string `env:"ORDERS_JWT_AUDIENCE"`
	// JWKSURL is the address of the issuer's key set.
	JWKSURL string `env:"ORDERS_JWKS_URL"`

	// StripeKey is the API key at the card provider. Without one, cards are refused.
	StripeKey string `env:"ORDERS_STRIPE_KEY,unset"`
	// StripeWebhookSecret is the secret with which the card provider signs its webhooks.
	StripeWebhookSecret string `env:"ORDERS_STRIPE_WEBHOOK_SECRET,unset"`

	// NATSURLs are the event broker's servers. Without any, events wait in the outbox.
	NATSURLs []string `env:"ORDERS_NATS_URL,unset"`

	// DrainDelay is how long a stopping process reports "not ready" before it closes its
	// ports, so that load balancers have time to route elsewhere.
	DrainDelay time.Duration `env:"ORDERS_DRAIN_DELAY" envDefault:"1s" group:"Some installations"`

	// TLSCert is the PEM file with the public listener's certificate. Without one, the
	// listener speaks plain HTTP.
	TLSCert string `env:"ORDERS_TLS_CERT"`
	// TLSKey is the PEM file with the certificate's key.
	TLSKey string `env:"ORDERS_TLS_KEY"`
	// TLSClientCA is the PEM file with the CA whose client certificates callers with the role
	// system need. Without one, a token is enough.
	TLSClientCA string `env:"ORDERS_TLS_CLIENT_CA"`

	// CORSOrigins are the origins whose pages may call the API from a browser. Without any,
	// only pages from the same origin may.
	CORSOrigins []string `env:"ORDERS_CORS_ORIGINS"`

	// DatabasePooler says where the URL leads: transaction for pgbouncer in transaction mode,
	// none for the servers.
	DatabasePooler string `env:"ORDERS_DATABASE_POOLER" envDefault:"none"`
	// CommandLanes is how many commands run at the same time before others wait and share a
	// transaction. With 0, each command has a separate transaction.
	CommandLanes int `env:"ORDERS_COMMAND_LANES" envDefault:"2"`

	// JWTClients are the accepted values of client_id, or of azp in a token without one. They
	// replace the audience where tokens have no aud; tokens with one are then refused. List only
	// clients that you trust, because their tokens for other services work here.
	JWTClients []string `env:"ORDERS_JWT_CLIENTS"`
	// RolesClaim is the name of the claim with the roles, or the path to it. It is a list, a
	// space-separated string, or an object whose keys are the names.
	RolesClaim string `env:"ORDERS_ROLES_CLAIM" envDefault:"roles"`
	// RolesMap lists, for each role, the issuer's names that grant it. Other names grant
	// nothing.
	RolesMap []string `env:"ORDERS_ROLES_MAP" envDefault:"customer=customer,seller=seller,admin=admin,system=system"`
	// JWTTypes are the accepted values of typ. A token without typ is a JWT.
	JWTTypes []string `env:"ORDERS_JWT_TYPES" envDefault:"JWT,at+jwt"`

	// IdempotencyTTL is how long responses are stored and keys stay taken (AUTH-19: 24 to 72
	// hours).
	IdempotencyTTL time.Duration `env:"ORDERS_IDEMPOTENCY_TTL" envDefault:"72h"`

	// KeysPerMinute is how many new idempotency keys a principal may use in a minute. Each
	// replica counts separately, as for the other limits.
	KeysPerMinute int `env:"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE" envDefault:"600"`
	// RequestsPerMinute is how many requests a principal may send in a minute.
	RequestsPerMinute int `env:"ORDERS_REQUESTS_PER_MINUTE" envDefault:"6000"`
	// UnlimitedRoles are the roles exempt from the limits of new keys, of requests, and of
	// requests in progress.
	UnlimitedRoles Roles `env:"ORDERS_UNLIMITED_ROLES" envDefault:"system"`

	// ReservationTTL is how long stock is reserved for an unpaid order.
	ReservationTTL time.Duration `env:"ORDERS_RESERVATION_TTL" envDefault:"15m"`
	// UnpaidOrders is how many unpaid orders a customer can have created, and each seller for
	// that customer.
	UnpaidOrders int `env:"ORDERS_UNPAID_ORDERS" envDefault:"50"`

	// NATSCredentials is the .creds file, or the file with an nkey seed, of our user at the
	// broker.
	NATSCredentials string `env:"ORDERS_NATS_CREDENTIALS"`
	// NATSReplicas is how many broker servers keep each message.
	NATSReplicas int `env:"ORDERS_NATS_REPLICAS" envDefault:"1"`
	// Outbox says who publishes events: relay for this service to the broker, external for
	// another program that reads the table outbox, such as Debezium.
	Outbox string `env:"ORDERS_OUTBOX" envDefault:"relay"`

	// OTLPEndpoint is the trace collector (OTLP over HTTP). Without one, nothing is traced.
	OTLPEndpoint string `env:"ORDERS_OTLP_ENDPOINT"`

	// LogLevel is the lowest level that is logged.
	LogLevel zerolog.Level `env:"ORDERS_LOG_LEVEL" envDefault:"info"`

	// JWTMaxLifetime is how long after iat a token may expire. A token without iat must expire
	// within that time from now.
	JWTMaxLifetime time.Duration `env:"ORDERS_JWT_MAX_LIFETIME" envDefault:"24h" group:"Rarely"`
	// IdempotencyErrorTTL is how long refusals are replayed. Afterwards their keys are spent.
	IdempotencyErrorTTL time.Duration `env:"ORDERS_IDEMPOTENCY_ERROR_TTL" envDefault:"6h"`
	// IdempotencyWait is how long a duplicate waits for the first request.
	IdempotencyWait time.Duration `env:"ORDERS_IDEMPOTENCY_WAIT" envDefault:"5s"`
	// InFlight is how many requests from one principal may be in progress.
	InFlight int `env:"ORDERS_IN_FLIGHT" envDefault:"64"`
	// ReservationExtensions is how often an order's reservation can be extended.
	ReservationExtensions int `env:"ORDERS_RESERVATION_EXTENSIONS" envDefault:"8"`
	// StripeURL is the card provider's API.
	StripeURL string `env:"ORDERS_STRIPE_URL" envDefault:"https://api.stripe.com"`
	// LogFormat is the format of log lines: json for machines, console for people.
	LogFormat string `env:"ORDERS_LOG_FORMAT" envDefault:"json"`
}

// Pooled reports whether connections go through a pooler.
func (c Config) Pooled() bool { return c.DatabasePooler == TransactionPooler }

// Read parses environment variables, each "NAME=value". The error has one line per
// problem, and repeats no value, because it may be a secret.
func Read(environ []string) (Config, error) {
	src, problems := parse(environ)
	problems = append(problems, unknownNames(environ)...)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		problems = append(problems, src.check(field, rules[variable(field)])...)
	}
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("invalid configuration:\n%w", errors.Join(problems...))
	}
	return src.cfg, nil
}

// source is a parsed environment.
type source struct {
	cfg        Config
	set        map[string]string
	files      map[string]error // unreadable files, by variable
	unreadable map[string]bool  // unparsed fields
}

func parse(environ []string) (source, []error) {
	src := source{}
	src.set, src.files = withFiles(environ)
	unreadable, problems := fieldsOf(env.ParseWithOptions(&src.cfg, env.Options{Environment: src.set}))
	src.unreadable = unreadable
	return src, problems
}

// check returns the problems with one variable.
func (s source) check(field reflect.StructField, r rule) []error {
	name := variable(field)
	switch {
	case s.files[name] != nil:
		return []error{s.files[name]}
	case isQuoted(s.set[name]):
		return []error{quoted(name)}
	case s.unreadable[field.Name] || (r.holds != nil && !r.holds(s.cfg)):
		return []error{fmt.Errorf("%s must %s", name, r.must)}
	}
	return unsafe(s.cfg, name)
}

// The settings of operators' commands, in addition to those of the database.
var (
	BrokerSettings   = []string{"ORDERS_NATS_URL", "ORDERS_NATS_CREDENTIALS"}
	ProviderSettings = []string{providerKeyVariable, "ORDERS_STRIPE_URL"}
)

// databaseSettings are those of every command that works on the database.
var databaseSettings = []string{"ORDERS_ALLOW_INSECURE", databaseVariable, "ORDERS_DATABASE_POOLER"}

// ReadDatabase returns the settings for commands that work on the database. It checks
// those of the database, and the ones that are named, as Read does, and refuses unknown
// names. The commands also take the other form of a database URL, and receive no
// webhooks, so that the provider's key needs no secret for them.
func ReadDatabase(environ []string, used ...string) (Config, error) {
	src, _ := parse(environ) // other variables may be wrong
	problems := unknownNames(environ)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name := variable(field)
		switch {
		case !slices.Contains(databaseSettings, name) && !slices.Contains(used, name):
		case name == databaseVariable && src.set[name] == "" && src.files[name] == nil:
			problems = append(problems, errors.New("ORDERS_DATABASE_URL is not set: it names the database"))
		case name == databaseVariable || name == providerKeyVariable:
			problems = append(problems, src.check(field, rule{})...)
		default:
			problems = append(problems, src.check(field, rules[name])...)
		}
	}
	return src.cfg, errors.Join(problems...)
}

// AdminAddr returns ORDERS_ADMIN_ADDR, for commands that need no other setting. It refuses
// unknown names: one may be this, mistyped, and the default address another instance's.
func AdminAddr(environ []string) (string, error) {
	cfg, err := readOne("ORDERS_ADMIN_ADDR", env.ToMap(environ))
	return cfg.AdminAddr, errors.Join(append(unknownNames(environ), err)...)
}

// readOne returns a configuration with one checked variable.
func readOne(name string, set map[string]string) (Config, error) {
	var cfg Config
	_ = env.ParseWithOptions(&cfg, env.Options{Environment: set}) // other variables may be wrong
	switch {
	case isQuoted(set[name]):
		return cfg, quoted(name)
	case !rules[name].holds(cfg):
		return cfg, fmt.Errorf("%s must %s", name, rules[name].must)
	}
	return cfg, nil
}

// isQuoted reports whether a value has quotes that a shell would have removed. Docker's
// and systemd's files keep some.
func isQuoted(value string) bool {
	return len(value) >= 2 && strings.ContainsAny(value[:1], `"'`) && value[0] == value[len(value)-1]
}

func quoted(name string) error {
	return fmt.Errorf("%s must not be in quotes, which are part of the value here: write %[1]s=value", name)
}

// fieldsOf returns the unparsed fields and all other errors.
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
