package faults

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
)

// streamMistakes compares the event stream with the outbox.
func streamMistakes(ctx context.Context, f *facts) ([]string, error) {
	return e2e.CompareStream(ctx, f.db, f.events)
}

// lostMessages compares processed messages with sent ones.
func lostMessages(ctx context.Context, f *facts) ([]string, error) {
	processed, err := f.texts(ctx, `SELECT message_id FROM processed_message WHERE source = 'events ' || $1`, source)
	if err != nil {
		return nil, err
	}
	sent := slices.Collect(maps.Keys(f.restocked()))
	return differences("processed", counted(processed), counted(sent)), nil
}

// lostDeadLetters compares dead letters with broken messages. A message that was sent
// twice makes two dead letters.
func lostDeadLetters(_ context.Context, f *facts) ([]string, error) {
	var broken, letters []string
	for _, body := range f.messages {
		if f.warehouse.isBroken(string(body)) {
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
func (l *Load) reconcile() string {
	l.t.Helper()
	settings, highest := []string{"ORDERS_DATABASE_URL=" + l.DatabaseURL}, 2
	if !l.world.lossy { // the provider remembers payments that the database has lost
		highest = 1
		settings = append(settings, e2e.CardSettings(l.Provider.URLs[0])...)
	}
	cmd := exec.CommandContext(l.t.Context(), e2e.BuildOrders(l.t), "reconcile")
	cmd.Env = l.Environ(l.t, settings...)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() > highest {
		l.t.Errorf("orders reconcile: %v", err)
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
	ours, err := e2e.CapturedByCard(ctx, f.db)
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
