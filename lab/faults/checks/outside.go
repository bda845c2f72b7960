package checks

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/faults/clients"
)

// streamMistakes compares the event stream with the outbox.
func streamMistakes(ctx context.Context, f *facts) ([]string, error) {
	return invariants.CompareStream(ctx, f.db, f.events)
}

// lostMessages compares processed messages with sent ones.
func lostMessages(ctx context.Context, f *facts) ([]string, error) {
	processed, err := f.texts(ctx, `SELECT message_id FROM processed_message WHERE source = 'events ' || $1`, clients.WarehouseSource)
	if err != nil {
		return nil, err
	}
	sent := slices.Collect(maps.Keys(f.Restocked()))
	return differences("processed", counted(processed), counted(sent)), nil
}

// lostDeadLetters compares dead letters with broken messages. A message that was sent
// twice makes two dead letters.
func lostDeadLetters(_ context.Context, f *facts) ([]string, error) {
	var broken, letters []string
	for _, body := range f.messages {
		if f.Warehouse.IsBroken(string(body)) {
			broken = append(broken, string(body))
		}
	}
	for _, body := range f.deadLetters {
		letters = append(letters, string(body))
	}
	return differences("dead-lettered", counted(letters), counted(broken)), nil
}

// counted counts each text.
func counted(texts []string) map[string]int {
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	return counts
}

// differences returns texts with different counts.
func differences(done string, got, want map[string]int) []string {
	var found []string
	all := maps.Clone(got)
	maps.Copy(all, want)
	for text := range all {
		if got[text] != want[text] {
			found = append(found, fmt.Sprintf("%s was %s %d times, want %d", text, done, got[text], want[text]))
		}
	}
	return found
}

// reconcile returns the mismatches that the operators' command prints. Payments are too young to
// be compared with the provider, and without its key the command exits with 2.
func reconcile(l *clients.Load) string {
	settings, highest := []string{"ORDERS_DATABASE_URL=" + l.DatabaseURL}, 2
	if !l.Memory.Lossy { // the provider remembers payments that the database has lost
		highest = 1
		settings = append(settings, e2e.CardSettings(l.Provider.URLs[0])...)
	}
	cmd := exec.CommandContext(l.T.Context(), e2e.BuildOrders(l.T), "reconcile")
	cmd.Env = l.Environ(l.T, settings...)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() > highest {
		l.T.Errorf("orders reconcile: %v", err)
	}
	return coverage.ReplaceAllString(string(out), "")
}

// coverage matches the lines about what agrees and what was not compared.
var coverage = regexp.MustCompile(`(?m)^(not compared with the card provider: .*|everything (else )?agrees)\n`)

// otherMismatches compares what `orders reconcile` prints with the cancelled orders whose
// card refused the refund. An operator has to pay these.
func otherMismatches(ctx context.Context, f *facts) ([]string, error) {
	refused, err := f.texts(ctx, `SELECT format('order/%s cancelled, and %s of %s given back', o.id, given.back, p.amount)
		FROM orders o JOIN payment p ON p.order_id = o.id AND p.method = 'card' AND p.status = 'captured'
		CROSS JOIN LATERAL (SELECT coalesce(sum(amount) FILTER (WHERE status <> 'failed'), 0) AS back, bool_or(status = 'failed') AS refused
			FROM refund WHERE payment_id = p.id) given
		WHERE o.status = 'cancelled' AND given.refused AND given.back < p.amount`)
	var printed []string
	for line := range strings.Lines(f.mismatches) {
		printed = append(printed, strings.Join(strings.Fields(line), " "))
	}
	return differences("printed", counted(printed), counted(refused)), err
}

// differentCharges compares our captured payments and refunds with the provider's by
// reference, amount and currency.
func differentCharges(ctx context.Context, f *facts) ([]string, error) {
	ours, err := invariants.CapturedByCard(ctx, f.db)
	if err != nil {
		return nil, err
	}
	var found []string
	for reference, charge := range f.charges {
		if charge != ours[reference] {
			found = append(found, fmt.Sprintf("the provider has %+v, and we have %+v", charge, ours[reference]))
		}
	}
	for reference, charge := range ours {
		if _, charged := f.charges[reference]; !charged {
			found = append(found, fmt.Sprintf("the provider knows nothing of our %+v", charge))
		}
	}
	return found, nil
}

// secrets are texts that no log and no column may contain, by kind. All the issuer's
// tokens share one prefix.
var secrets = map[string]string{ //nolint:gosec // of doubles
	"a bearer token": "eyJhbGciOi", "the key of the provider": e2e.StripeKey, "the secret of webhooks": e2e.WebhookSecret,
	"a card number": clients.CardNumber, "a key or an e-mail": clients.Canary,
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
	columns, err := pgtest.Columns(ctx, f.db)
	for name, text := range columns {
		if slices.Contains(columnsWithCanary, strings.TrimPrefix(name, "public.")) {
			text = strings.ReplaceAll(text, clients.Canary, "")
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
