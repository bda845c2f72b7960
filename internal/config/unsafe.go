package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// danger is a setting that lets others on the network attack the service. It is refused
// unless ORDERS_ALLOW_INSECURE names it.
type danger struct {
	// name is its name in ORDERS_ALLOW_INSECURE.
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
	{"broker", "ORDERS_NATS_URL",
		"be tls:// URLs with credentials, in them or in the file of ORDERS_NATS_CREDENTIALS, or lead to loopback",
		func(c Config) bool { return !slices.ContainsFunc(c.NATSURLs, c.isUnprotectedBroker) }},
	{"traces", "ORDERS_OTLP_ENDPOINT",
		"be an https URL, or lead to loopback",
		func(c Config) bool { return c.OTLPEndpoint == "" || isSafeURL(c.OTLPEndpoint) }},
	{name: privateWebhooks}, // callers choose the URLs, and no setting names them
}

const privateWebhooks = "webhooks"

// PrivateWebhooks reports whether webhook endpoints may use http and private networks.
func (c Config) PrivateWebhooks() bool { return slices.Contains(c.AllowInsecure, privateWebhooks) }

const (
	databaseVariable    = "ORDERS_DATABASE_URL"
	providerKeyVariable = "ORDERS_STRIPE_KEY"
)

// unsafe returns an error for each danger that a variable neither avoids nor allows.
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
// means all addresses.
func isLoopbackAddr(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopback(host)
}

// isEncryptedDatabase reports whether every connection to another machine uses TLS. The
// driver interprets the URL: it knows several hosts, PG… variables, service files, and
// the plain connection that sslmode=prefer, its default, tries after TLS. Opening
// reports a URL that it cannot parse.
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

// isUnprotectedBroker reports whether a broker on another machine is used without TLS
// or credentials.
func (c Config) isUnprotectedBroker(serverURL string) bool {
	u, err := url.Parse(serverURL)
	return err != nil || !isLoopback(u.Hostname()) &&
		(u.Scheme != "tls" || u.User.Username()+c.NATSCredentials == "")
}
