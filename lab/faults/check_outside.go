package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
