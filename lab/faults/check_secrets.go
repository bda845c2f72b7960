package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
)

// secrets are texts that no log and no column may contain, by kind. All the issuer's
// tokens share one prefix.
var secrets = map[string]string{ //nolint:gosec // of doubles
	"a bearer token": "eyJhbGciOi", "the key of the provider": e2e.StripeKey, "the secret of webhooks": e2e.WebhookSecret,
	"a card number": cardNumber, "a key or an e-mail": canary,
}

// columnsWithCanary are the columns for keys and personal data.
var columnsWithCanary = []string{
	"idempotency_record.key", "orders.idempotency_key", "orders.cancel_key", "reservation_extension.idempotency_key",
	"payment.idempotency_key", "refund.idempotency_key", "ledger_entry.idempotency_key", "stock_adjustment.idempotency_key",
	"customer_profile.full_name", "customer_profile.email",
}

// leakedSecrets returns secrets in logs and in columns where they do not belong.
func leakedSecrets(ctx context.Context, f *facts) ([]string, error) {
	found := search("the log", f.logs)
	columns, err := e2e.Columns(ctx, f.db)
	for name, text := range columns {
		if slices.Contains(columnsWithCanary, strings.TrimPrefix(name, "public.")) {
			text = strings.ReplaceAll(text, canary, "")
		}
		found = append(found, search(name, text)...)
	}
	return found, err
}

// search returns the secrets in a text.
func search(place, text string) []string {
	var found []string
	for what, secret := range secrets {
		if at := strings.Index(text, secret); at >= 0 {
			found = append(found, fmt.Sprintf("%s is in %s: …%s…", what, place, text[max(0, at-80):min(len(text), at+80)]))
		}
	}
	return found
}
