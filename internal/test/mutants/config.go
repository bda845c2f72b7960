package main

const (
	settings       = "./internal/config"
	rulesFile      = "internal/config/rules.go"
	rejectsInvalid = "TestRead_RejectsInvalidValues"
)

// configMutants are what settings must be: a mistake must not weaken the service.
var configMutants = []mutant{
	{"a record is kept for 24 hours at least", rulesFile, `within(c.IdempotencyTTL, 24*time.Hour,`, `within(c.IdempotencyTTL, time.Hour,`, settings, rejectsInvalid},
	{"a record is kept for 72 hours at most", rulesFile, `within(c.IdempotencyTTL, 24*time.Hour, 72*time.Hour)`, `within(c.IdempotencyTTL, 24*time.Hour, 720*time.Hour)`, settings, rejectsInvalid},
	{"a record is kept for 72 hours by default", "internal/config/config.go", `envDefault:"72h"`, `envDefault:"24h"`, settings, "TestRead_FillsInDefaults"},
	{"a refusal is kept for a bounded time", rulesFile, `within(c.IdempotencyErrorTTL, time.Minute, 72*time.Hour)`, `true`, settings, rejectsInvalid},
	{"a duplicate waits for a bounded time", rulesFile, `within(c.IdempotencyWait, 0, 30*time.Second)`, `true`, settings, rejectsInvalid},
	{"a reservation lasts for a bounded time", rulesFile, `within(c.ReservationTTL, time.Second, 24*time.Hour)`, `true`, settings, rejectsInvalid},
	{"keys come over https", rulesFile, `return isSafeURL(c.JWKSURL)`, `return c.JWKSURL != ""`, settings, rejectsInvalid},
	{"the provider is called over https", rulesFile, `return isSafeURL(c.StripeURL)`, `return c.StripeURL != ""`, settings, rejectsInvalid},
	{"plain http is for loopback only", rulesFile, `(u.Scheme == "http" && isLoopback(u.Hostname()))`, `u.Scheme == "http"`, settings, rejectsInvalid},
	{"an issuer is required", rulesFile, `return isWord(c.JWTIssuer)`, `return true`, settings, rejectsInvalid},
	{"an audience is required", rulesFile, `return c.JWTAudience != ""`, `return true`, settings, rejectsInvalid},
	{"a key of the provider needs the secret of its webhooks", rulesFile, `return (c.StripeKey == "") == (c.StripeWebhookSecret == "")`, `return true`, settings, rejectsInvalid},
	{"a broker has a URL of NATS", rulesFile, `!slices.ContainsFunc(c.NATSURLs, isNotNATS)`, `true`, settings, rejectsInvalid},
	{"a database has a URL of PostgreSQL", rulesFile, `return isPostgres(c.DatabaseURL)`, `return true`, settings, rejectsInvalid},
	{"a mistyped setting is refused", "internal/config/names.go", `if strings.HasPrefix(name, prefix) && !slices.Contains(known, name) {`, `if false {`, settings, "TestRead_RefusesUnknownVariables"},
}
