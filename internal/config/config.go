// Package config reads the configuration of a process from its environment and
// checks all of it before anything starts.
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

// Config is how a process runs. Every field is an environment variable.
type Config struct {
	// Addr is the public listener, AdminAddr that of metrics and pprof.
	Addr      string `env:"ORDERS_ADDR" envDefault:"127.0.0.1:8080"`
	AdminAddr string `env:"ORDERS_ADMIN_ADDR" envDefault:"127.0.0.1:9090"`

	DatabaseURL string `env:"ORDERS_DATABASE_URL,notEmpty,unset"`

	JWTIssuer   string `env:"ORDERS_JWT_ISSUER,notEmpty"`
	JWTAudience string `env:"ORDERS_JWT_AUDIENCE,notEmpty"`
	JWKSURL     string `env:"ORDERS_JWKS_URL,notEmpty"`
	RolesClaim  string `env:"ORDERS_ROLES_CLAIM" envDefault:"roles"`

	// How long answers of guarded commands are kept (AUTH-19: 24 to 72 hours), how long
	// refusals are, and how long a duplicate waits for the first request.
	IdempotencyTTL      time.Duration `env:"ORDERS_IDEMPOTENCY_TTL" envDefault:"72h"`
	IdempotencyErrorTTL time.Duration `env:"ORDERS_IDEMPOTENCY_ERROR_TTL" envDefault:"6h"`
	IdempotencyWait     time.Duration `env:"ORDERS_IDEMPOTENCY_WAIT" envDefault:"5s"`

	// ReservationTTL is how long stock is held for an order that waits for payment.
	ReservationTTL time.Duration `env:"ORDERS_RESERVATION_TTL" envDefault:"15m"`

	// The card gateway; without a key cards are refused.
	StripeKey           string `env:"ORDERS_STRIPE_KEY,unset"`
	StripeWebhookSecret string `env:"ORDERS_STRIPE_WEBHOOK_SECRET,unset"`
	StripeURL           string `env:"ORDERS_STRIPE_URL" envDefault:"https://api.stripe.com"`

	// NATSURL is the event broker; without one events wait in the outbox.
	NATSURL string `env:"ORDERS_NATS_URL,unset"`

	LogLevel  zerolog.Level `env:"ORDERS_LOG_LEVEL" envDefault:"info"`
	LogFormat string        `env:"ORDERS_LOG_FORMAT" envDefault:"json"`
}

// Read takes the configuration from the variables of a process, "NAME=value" each.
// The error names every problem, one a line.
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
		return Config{}, fmt.Errorf("the configuration has problems:\n%w", errors.Join(problems...))
	}
	return cfg, nil
}

// check says what is wrong with values that could be read.
func (c Config) check() []error {
	var problems []error
	complain := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, errors.New(problem))
		}
	}
	complain(isAddr(c.Addr), "ORDERS_ADDR must be host:port")
	complain(isAddr(c.AdminAddr), "ORDERS_ADMIN_ADDR must be host:port")
	complain(c.DatabaseURL == "" || isPostgres(c.DatabaseURL), "ORDERS_DATABASE_URL must be a postgres:// URL")
	complain(c.JWKSURL == "" || isSafeURL(c.JWKSURL), "ORDERS_JWKS_URL must be an https URL, or http on loopback")
	complain(!strings.ContainsAny(c.JWTIssuer, " \t\r\n"), "ORDERS_JWT_ISSUER must have no spaces")
	complain(within(c.IdempotencyTTL, 24*time.Hour, 72*time.Hour), "ORDERS_IDEMPOTENCY_TTL must be from 24h to 72h")
	complain(within(c.IdempotencyErrorTTL, time.Minute, 72*time.Hour), "ORDERS_IDEMPOTENCY_ERROR_TTL must be from 1m to 72h")
	complain(within(c.IdempotencyWait, 0, 30*time.Second), "ORDERS_IDEMPOTENCY_WAIT must be from 0s to 30s")
	complain(within(c.ReservationTTL, time.Second, 24*time.Hour), "ORDERS_RESERVATION_TTL must be from 1s to 24h")
	complain((c.StripeKey == "") == (c.StripeWebhookSecret == ""), "ORDERS_STRIPE_KEY and ORDERS_STRIPE_WEBHOOK_SECRET go together")
	complain(isSafeURL(c.StripeURL), "ORDERS_STRIPE_URL must be an https URL, or http on loopback")
	complain(c.NATSURL == "" || isNATS(c.NATSURL), "ORDERS_NATS_URL must be a nats:// or tls:// URL")
	complain(c.LogFormat == "json" || c.LogFormat == "console", "ORDERS_LOG_FORMAT must be json or console")
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

// isSafeURL tells whether nobody on the way can listen or swap what is said.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	return u.Scheme == "https" || (u.Scheme == "http" && loopback)
}
