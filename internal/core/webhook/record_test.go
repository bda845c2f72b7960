package webhook_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/webhook"
)

// A process that pauses for more than a minute has an outcome for an attempt that another
// process has repeated.
func TestRecordAttempts_IgnoresWhatAnotherHasFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "late")
	f.execute(t, `INSERT INTO webhook_delivery (endpoint_id, event_id, event_type, aggregate, position, body, next_attempt_at, event_at)
		VALUES (1, '0190aaaa-0000-7000-8000-000000000001', 'order.paid', 'order/1', 1, '{}', now(), now())`)
	service := &webhook.Service{Store: f.Webhooks()}
	claim := func() webhook.Attempt {
		t.Helper()
		attempts, err := f.Deliveries().Claim(t.Context(), 1, 8, time.Minute)
		if err != nil || len(attempts) != 1 {
			t.Fatalf("claimed %d, err = %v", len(attempts), err)
		}
		return attempts[0]
	}
	record := func(a webhook.Attempt, o webhook.Outcome, want string) {
		t.Helper()
		if err := service.RecordAttempts(t.Context(), 1, []webhook.Ended{{Attempt: a, Outcome: o}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, f.statuses(t)); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
	}
	accepted, failed := webhook.Outcome{Status: 200}, webhook.Outcome{Failure: webhook.FailedTimeout}
	first := claim()
	f.letRetry(t)
	second := claim()

	record(first, accepted, "late pending 2: 1")
	record(second, accepted, "late delivered 2: 1")
	record(second, failed, "late delivered 2: 1")
	record(first, failed, "late delivered 2: 1")
}
