// Package config reads the configuration of a process from its environment. It checks
// all of it before anything starts.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"
)

// Config is the configuration of a process. Every field is an environment variable.
type Config struct {
	// Addr is the address of the public API, AdminAddr that of metrics and pprof.
	Addr      string `env:"ORDERS_ADDR" envDefault:"127.0.0.1:8080"`
	AdminAddr string `env:"ORDERS_ADMIN_ADDR" envDefault:"127.0.0.1:9090"`

	DatabaseURL string `env:"ORDERS_DATABASE_URL,notEmpty,unset"`

	JWTIssuer   string `env:"ORDERS_JWT_ISSUER,notEmpty"`
	JWTAudience string `env:"ORDERS_JWT_AUDIENCE,notEmpty"`
	JWKSURL     string `env:"ORDERS_JWKS_URL,notEmpty"`
	RolesClaim  string `env:"ORDERS_ROLES_CLAIM" envDefault:"roles"`

	// IdempotencyTTL is how long the response of a guarded command is kept (AUTH-19: 24
	// to 72 hours), IdempotencyErrorTTL how long a refusal is kept. IdempotencyWait is
	// how long a duplicate waits for the first request.
	IdempotencyTTL      time.Duration `env:"ORDERS_IDEMPOTENCY_TTL" envDefault:"72h"`
	IdempotencyErrorTTL time.Duration `env:"ORDERS_IDEMPOTENCY_ERROR_TTL" envDefault:"6h"`
	IdempotencyWait     time.Duration `env:"ORDERS_IDEMPOTENCY_WAIT" envDefault:"5s"`

	// ReservationTTL is how long stock is reserved for an order that waits for payment.
	ReservationTTL time.Duration `env:"ORDERS_RESERVATION_TTL" envDefault:"15m"`

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

// Read parses the variables of a process, each "NAME=value". The error names every
// problem on a line of its own.
func Read(environ []string) (Config, error) {
	var cfg Config
	err := env.ParseWithOptions(&cfg, env.Options{Environment: env.ToMap(environ)})
	problems := cfg.check()
	if several, ok := errors.AsType[env.AggregateError](err); ok {
		problems = append(several.Errors, problems...)
	} else if err != nil {
		problems = append([]error{err}, problems...)
	}
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("invalid configuration:\n%w", errors.Join(problems...))
	}
	return cfg, nil
}

// check returns what is wrong with values that could be parsed.
func (c Config) check() []error {
	var problems []error
	require := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, errors.New(problem))
		}
	}
	require(isAddr(c.Addr), "ORDERS_ADDR must be host:port")
	require(isAddr(c.AdminAddr), "ORDERS_ADMIN_ADDR must be host:port")
	require(c.DatabaseURL == "" || isPostgres(c.DatabaseURL), "ORDERS_DATABASE_URL must be a postgres:// URL")
	require(c.JWKSURL == "" || isSafeURL(c.JWKSURL), "ORDERS_JWKS_URL must be an https URL, or http on loopback")
	require(!strings.ContainsAny(c.JWTIssuer, " \t\r\n"), "ORDERS_JWT_ISSUER must not contain spaces")
	require(within(c.IdempotencyTTL, 24*time.Hour, 72*time.Hour), "ORDERS_IDEMPOTENCY_TTL must be between 24h and 72h")
	require(within(c.IdempotencyErrorTTL, time.Minute, 72*time.Hour), "ORDERS_IDEMPOTENCY_ERROR_TTL must be between 1m and 72h")
	require(within(c.IdempotencyWait, 0, 30*time.Second), "ORDERS_IDEMPOTENCY_WAIT must be between 0s and 30s")
	require(within(c.ReservationTTL, time.Second, 24*time.Hour), "ORDERS_RESERVATION_TTL must be between 1s and 24h")
	require((c.StripeKey == "") == (c.StripeWebhookSecret == ""), "ORDERS_STRIPE_KEY and ORDERS_STRIPE_WEBHOOK_SECRET must be set together")
	require(isSafeURL(c.StripeURL), "ORDERS_STRIPE_URL must be an https URL, or http on loopback")
	require(c.NATSURL == "" || isNATS(c.NATSURL), "ORDERS_NATS_URL must be a nats:// or tls:// URL")
	require(c.LogFormat == "json" || c.LogFormat == "console", "ORDERS_LOG_FORMAT must be json or console")
	return problems
}

func within(d, from, to time.Duration) bool { return d >= from && d <= to }

func isAddr(addr string) bool {
	_, _, err := net.SplitHostPort(addr)
	return err == nil
}

func isPostgres(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

func isNATS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "nats" || u.Scheme == "tls") && u.Hostname() != ""
}

// isSafeURL reports whether nobody on the network can read or change what is sent.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	return u.Scheme == "https" || (u.Scheme == "http" && loopback)
}
