package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// rule describes a variable's valid values.
type rule struct {
	must  string
	holds func(Config) bool
}

const mustCount = "be a number from 0 to 1000000000, 0 for no limit"

// rules holds a rule for every variable that can be wrong.
var rules = map[string]rule{
	"ORDERS_ADDR":       {"be host:port, such as 127.0.0.1:8080", func(c Config) bool { return isAddr(c.Addr) }},
	"ORDERS_ADMIN_ADDR": {"be host:port, such as 127.0.0.1:9090", func(c Config) bool { return isAddr(c.AdminAddr) }},
	"ORDERS_DRAIN_DELAY": {"be a duration between 0s and 1m, such as 3s",
		func(c Config) bool { return within(c.DrainDelay, 0, time.Minute) }},
	"ORDERS_TLS_CERT": {"be set together with ORDERS_TLS_KEY",
		func(c Config) bool { return (c.TLSCert == "") == (c.TLSKey == "") }},
	"ORDERS_TLS_CLIENT_CA": {"be set together with ORDERS_TLS_CERT and ORDERS_TLS_KEY",
		func(c Config) bool { return c.TLSClientCA == "" || (c.TLSCert != "" && c.TLSKey != "") }},
	"ORDERS_CORS_ORIGINS": {"be a list of origins as browsers send them, separated by commas, such as https://shop.example.com: " +
		"https, or http on loopback; no wildcard, path or default port",
		func(c Config) bool { return !slices.ContainsFunc(c.CORSOrigins, isNoOrigin) }},
	"ORDERS_ALLOW_INSECURE": {"be a list of admin, database, broker, traces and webhooks, separated by commas",
		func(c Config) bool { return areDangers(c.AllowInsecure) }},
	"ORDERS_DATABASE_URL": {"be a postgres:// URL, with a percent-encoded password", func(c Config) bool { return isPostgres(c.DatabaseURL) }},
	"ORDERS_DATABASE_POOLER": {"be none or transaction",
		func(c Config) bool { return c.DatabasePooler == "none" || c.DatabasePooler == TransactionPooler }},
	"ORDERS_JWT_ISSUER": {"be the issuer of the tokens, without spaces", func(c Config) bool { return isWord(c.JWTIssuer) }},
	"ORDERS_JWT_AUDIENCE": {"be the audience of the tokens, without spaces around it, or else empty beside ORDERS_JWT_CLIENTS",
		func(c Config) bool {
			return isTrimmed(c.JWTAudience) && (c.JWTAudience == "") == (len(c.JWTClients) > 0)
		}},
	"ORDERS_JWT_CLIENTS": {"be client IDs, separated by commas", func(c Config) bool { return !slices.ContainsFunc(c.JWTClients, isNoWord) }},
	"ORDERS_JWKS_URL":    {"be an https URL, or http on loopback", func(c Config) bool { return isSafeURL(c.JWKSURL) }},
	"ORDERS_ROLES_CLAIM": {"be a claim, or a path with dots between names, such as roles or realm_access.roles",
		func(c Config) bool { return !slices.ContainsFunc(strings.Split(c.RolesClaim, "."), isNoWord) }},
	"ORDERS_ROLES_MAP": {"give customer, seller, admin or system the issuer's names, each name once, such as customer=buyer|shopper,admin=ops",
		func(c Config) bool { return c.RoleNames() != nil }},
	"ORDERS_JWT_TYPES": {"be types of tokens without application/, such as JWT,at+jwt",
		func(c Config) bool { return areSubtypes(c.JWTTypes) }},
	"ORDERS_JWT_MAX_LIFETIME": {"be a duration between 1m and 720h, such as 24h",
		func(c Config) bool { return within(c.JWTMaxLifetime, time.Minute, 720*time.Hour) }},
	"ORDERS_IDEMPOTENCY_TTL": {"be a duration between 24h and 72h, such as 48h",
		func(c Config) bool { return within(c.IdempotencyTTL, 24*time.Hour, 72*time.Hour) }},
	"ORDERS_IDEMPOTENCY_ERROR_TTL": {"be a duration between 1m and 72h, such as 6h",
		func(c Config) bool { return within(c.IdempotencyErrorTTL, time.Minute, 72*time.Hour) }},
	"ORDERS_IDEMPOTENCY_WAIT": {"be a duration between 0s and 30s, such as 5s",
		func(c Config) bool { return within(c.IdempotencyWait, 0, 30*time.Second) }},
	"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE": {mustCount, func(c Config) bool { return isCount(c.KeysPerMinute) }},
	"ORDERS_REQUESTS_PER_MINUTE":         {mustCount, func(c Config) bool { return isCount(c.RequestsPerMinute) }},
	"ORDERS_COMMAND_LANES":               {mustCount, func(c Config) bool { return isCount(c.CommandLanes) }},
	"ORDERS_IN_FLIGHT":                   {mustCount, func(c Config) bool { return isCount(c.InFlight) }},
	"ORDERS_UNLIMITED_ROLES": {"be none, or roles out of customer, seller, admin and system, separated by commas",
		func(Config) bool { return true }}, // the parser has rejected invalid ones
	"ORDERS_RESERVATION_TTL": {"be a duration between 1s and 24h, such as 15m",
		func(c Config) bool { return within(c.ReservationTTL, time.Second, 24*time.Hour) }},
	"ORDERS_RESERVATION_EXTENSIONS": {"be a number between 0, for no bound, and 1000000",
		func(c Config) bool { return isBound(c.ReservationExtensions) }},
	"ORDERS_UNPAID_ORDERS": {"be a number between 0, for no bound, and 1000000",
		func(c Config) bool { return isBound(c.UnpaidOrders) }},
	"ORDERS_STRIPE_KEY": {"be set together with ORDERS_STRIPE_WEBHOOK_SECRET",
		func(c Config) bool { return (c.StripeKey == "") == (c.StripeWebhookSecret == "") }},
	"ORDERS_STRIPE_WEBHOOK_SECRET": {"be the signing secret of the endpoint as Stripe shows it: 12 characters or more",
		func(c Config) bool { return c.StripeWebhookSecret == "" || isSecretWord(c.StripeWebhookSecret) }},
	"ORDERS_STRIPE_URL": {"be an https URL, or http on loopback", func(c Config) bool { return isSafeURL(c.StripeURL) }},
	"ORDERS_NATS_URL": {"be nats:// URLs, or tls:// URLs, separated by commas, with percent-encoded passwords",
		func(c Config) bool { return !slices.ContainsFunc(c.NATSURLs, isNotNATS) && haveOneScheme(c.NATSURLs) }},
	"ORDERS_OUTBOX": {"be relay or external",
		func(c Config) bool { return c.Outbox == "relay" || c.Outbox == ExternalOutbox }},
	"ORDERS_NATS_REPLICAS": {"be 1, 3 or 5",
		func(c Config) bool { return slices.Contains([]int{1, 3, 5}, c.NATSReplicas) }},
	"ORDERS_OTLP_ENDPOINT": {"be an http or https URL without credentials and parameters, such as https://collector:4318",
		func(c Config) bool { return c.OTLPEndpoint == "" || isCollector(c.OTLPEndpoint) }},
	"ORDERS_LOG_LEVEL": {"be trace, debug, info, warn, error, fatal, panic or disabled",
		func(c Config) bool { return c.LogLevel >= zerolog.TraceLevel && c.LogLevel <= zerolog.Disabled }},
	"ORDERS_LOG_FORMAT": {"be json or console",
		func(c Config) bool { return c.LogFormat == "json" || c.LogFormat == "console" }},
}

func within(d, from, to time.Duration) bool { return d >= from && d <= to }

func isCount(n int) bool { return n >= 0 && n <= 1_000_000_000 }

func isBound(n int) bool { return n >= 0 && n <= 1_000_000 }

func isWord(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\r\n") }

func isTrimmed(s string) bool { return strings.TrimSpace(s) == s }

func isNoWord(s string) bool { return !isWord(s) }

// isSecretWord reports whether s is too long to guess. Stripe's secrets have 38
// characters.
func isSecretWord(s string) bool { return isWord(s) && len(s) >= 12 }

// areSubtypes reports whether all names are valid media subtypes (RFC 6838, section
// 4.2).
func areSubtypes(names []string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&-^_.+"
	return !slices.ContainsFunc(names, func(name string) bool {
		return name == "" || strings.Trim(name, letters) != ""
	})
}

// isAddr refuses what a URL would read as a user, a path or a query, and an empty port,
// which is 80 in a URL and any port for a listener.
func isAddr(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	_, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && !strings.ContainsAny(host, "/?#@\\ \t\r\n")
}

// isPostgres refuses a second @: a password with an unescaped @ or slash would end in
// the host or database name, which connection errors repeat.
func isPostgres(s string) bool {
	u, err := parseDatabase(s)
	server, _, _ := strings.Cut(s, "?")
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && strings.Count(server, "@") <= 1 &&
		!strings.Contains(u.Path, "@")
}

// hostList matches a database URL with several hosts: the part before them, the first
// host, the others, and the rest.
var hostList = regexp.MustCompile(`^(postgres(?:ql)?://(?:[^/?#]*@)?)([^,/?#]*)(,[^/?#]*)(.*)$`)

// parseDatabase is [url.Parse] for database URLs. It accepts several hosts, with and
// without ports.
func parseDatabase(s string) (*url.URL, error) {
	part := hostList.FindStringSubmatch(s)
	if part == nil {
		return url.Parse(s)
	}
	u, err := url.Parse(part[1] + part[2] + part[4])
	if err == nil {
		u.Host += part[3]
	}
	return u, err
}

// isNotNATS reports whether s is not a broker URL. A path, query or fragment would be
// the end of a password with a slash, question mark or hash.
func isNotNATS(s string) bool {
	u, err := url.Parse(s)
	return err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != ""
}

// haveOneScheme reports whether all URLs have the same scheme. The NATS client uses TLS
// for all servers if one URL asks for it.
func haveOneScheme(urls []string) bool {
	return !slices.ContainsFunc(urls, func(s string) bool {
		scheme, _, _ := strings.Cut(urls[0], "://")
		return !strings.HasPrefix(s, scheme+"://")
	})
}

// isCollector reports whether s is a collector address. Credentials belong in
// OTEL_EXPORTER_OTLP_HEADERS.
func isCollector(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// isSafeURL reports whether the network cannot read or change requests to s.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || (u.Scheme == "http" && isLoopback(u.Hostname()))
}

// originPattern is the form in which browsers send an origin: lower case, without
// anything that the CORS library would treat as a wildcard.
var originPattern = regexp.MustCompile(`^https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?$`)

// isNoOrigin reports whether s is not an origin as browsers send it, or an unsafe one.
func isNoOrigin(s string) bool {
	u, err := url.Parse(s)
	return err != nil || !originPattern.MatchString(s) || !isSafeURL(s) ||
		(u.Scheme == "https" && u.Port() == "443") || (u.Scheme == "http" && u.Port() == "80")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
