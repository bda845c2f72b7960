package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5/pgconn"
)

// danger is a value that others on the network can use against the service. It is refused
// unless ORDERS_ALLOW_INSECURE names it.
type danger struct {
	// name is how ORDERS_ALLOW_INSECURE names it.
	name     string
	variable string
	must     string
	avoided  func(Config) bool
}

var dangers = []danger{
	{"admin", "ORDERS_ADMIN_ADDR",
		"be a loopback address, such as 127.0.0.1:9090: metrics and profiles have no authentication",
		func(c Config) bool { return isLoopbackAddr(c.AdminAddr) }},
	{"database", databaseVariable,
		"encrypt every connection that leaves this machine: add sslmode=verify-full to the URL",
		func(c Config) bool { return isEncryptedDatabase(c.DatabaseURL) }},
	{"database", standbyVariable,
		"encrypt every connection that leaves this machine: add sslmode=verify-full to the URL",
		func(c Config) bool { return c.StandbyURL == "" || isEncryptedDatabase(c.StandbyURL) }},
	{"broker", "ORDERS_NATS_URL",
		"be tls:// URLs with credentials, or lead to loopback",
		func(c Config) bool { return !slices.ContainsFunc(c.NATSURLs, isUnprotectedBroker) }},
	{"traces", "ORDERS_OTLP_ENDPOINT",
		"be an https URL, or lead to loopback",
		func(c Config) bool { return c.OTLPEndpoint == "" || isSafeURL(c.OTLPEndpoint) }},
}

// databaseVariable is the variable that [CheckDatabase] checks, standbyVariable the other
// one that leads to PostgreSQL.
const (
	databaseVariable = "ORDERS_DATABASE_URL"
	standbyVariable  = "ORDERS_DATABASE_STANDBY_URL"
)

// CheckDatabase returns an error if the URL of the database is unsafe and not allowed, for
// commands that read no [Config].
func CheckDatabase(environ []string) error {
	set := env.ToMap(environ)
	if isQuoted(set[databaseVariable]) {
		return quoted(databaseVariable)
	}
	cfg := Config{DatabaseURL: set[databaseVariable]}
	if allowed := set["ORDERS_ALLOW_INSECURE"]; allowed != "" {
		cfg.AllowInsecure = strings.Split(allowed, ",")
	}
	return errors.Join(unsafe(cfg, databaseVariable)...)
}

// unsafe returns an error for each danger of a variable that is neither avoided nor
// allowed.
func unsafe(cfg Config, variable string) []error {
	var problems []error
	for _, d := range dangers {
		if d.variable == variable && !d.avoided(cfg) && !slices.Contains(cfg.AllowInsecure, d.name) {
			allow := strings.Join(append(slices.Clone(cfg.AllowInsecure), d.name), ",")
			problems = append(problems, fmt.Errorf(
				"%s must %s; if you trust this network, set ORDERS_ALLOW_INSECURE=%s", d.variable, d.must, allow))
		}
	}
	return problems
}

func areDangers(names []string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(dangers, func(d danger) bool { return d.name == name }) {
			return false
		}
	}
	return true
}

// isLoopbackAddr reports whether only this machine reaches an address. An empty host
// stands for all addresses.
func isLoopbackAddr(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopback(host)
}

// isEncryptedDatabase reports whether no connection leaves this machine without TLS. The
// driver decides what a URL means: it knows several hosts, PG… variables, service files,
// and the plain connection that sslmode=prefer, its default, tries after TLS. A URL that
// it cannot parse leads nowhere, and is reported where it is opened.
func isEncryptedDatabase(databaseURL string) bool {
	cfg, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		return true
	}
	first := &pgconn.FallbackConfig{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}
	attempts := slices.Concat([]*pgconn.FallbackConfig{first}, cfg.Fallbacks)
	return !slices.ContainsFunc(attempts, func(attempt *pgconn.FallbackConfig) bool {
		network, _ := pgconn.NetworkAddress(attempt.Host, attempt.Port)
		return network != "unix" && attempt.TLSConfig == nil && !isLoopback(attempt.Host)
	})
}

// isUnprotectedBroker reports whether a server of the broker is elsewhere than on this
// machine, and is not reached by TLS and with credentials.
func isUnprotectedBroker(serverURL string) bool {
	u, err := url.Parse(serverURL)
	return err != nil || !isLoopback(u.Hostname()) && (u.Scheme != "tls" || u.User.Username() == "")
}
