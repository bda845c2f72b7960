package webhook_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/webhook"
	testwait "example.com/orders/internal/test/wait"
)

// wantEndpoint waits until the endpoint is disabled for a reason, "" for an enabled one, and
// whether it is failing.
func (f *fixture) wantEndpoint(t *testing.T, url, reason string, failing bool) {
	t.Helper()
	testwait.Until(t, url+" is disabled: "+reason, func() bool {
		return len(f.read(t, `SELECT url FROM webhook_endpoint WHERE url = $1 AND COALESCE(disabled_reason, '') = $2
			AND (failing_since IS NOT NULL) = $3`, url, reason, failing)) == 1
	})
}

func TestCourier_SendsNothingToEndpointsThatAreDisabledOrDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "disabled", "deleted", "works")
	r := newReceivers(nil)
	f.start(t, r)
	f.addEvents(t, 1, 1)
	testwait.Until(t, "each has the first event", func() bool {
		return len(r.bodies("disabled")) == 1 && len(r.bodies("deleted")) == 1 && len(r.bodies("works")) == 1
	})

	f.execute(t, `UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'disabled by request' WHERE url = 'disabled'`)
	f.execute(t, `DELETE FROM webhook_endpoint WHERE url = 'deleted'`)
	for n := 2; n <= 4; n++ {
		f.addEvents(t, 1, 1)
		testwait.Until(t, "the third has the next event", func() bool { return len(r.bodies("works")) == n })
	}
	if disabled, deleted := len(r.attempts("disabled")), len(r.attempts("deleted")); disabled != 1 || deleted != 1 {
		t.Errorf("%d and %d attempts, want one each from before", disabled, deleted)
	}

	f.execute(t, `UPDATE webhook_endpoint SET disabled_at = NULL, disabled_reason = NULL WHERE url = 'disabled'`)
	testwait.Until(t, "the events that waited arrive", func() bool { return len(r.bodies("disabled")) == 4 })
	f.wantAll(t, r, "disabled")
}

func TestCourier_ForgetsAnAttemptAtAnEndpointThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "deleted")
	f.addEvents(t, 1, 1)
	r := newReceivers(answers{"deleted": func(context.Context, webhook.Attempt) webhook.Outcome {
		f.execute(t, "DELETE FROM webhook_endpoint")
		return webhook.Outcome{Status: 200}
	}})
	recorded := make(chan error, 1)
	f.start(t, r, func(c *webhook.Courier) {
		record := c.Record
		c.Record = func(ctx context.Context, endpointID int64, attempts []webhook.Ended) error {
			err := record(ctx, endpointID, attempts)
			recorded <- err
			return err
		}
	})
	if err := <-recorded; err != nil {
		t.Errorf("err = %v", err)
	}
}

func TestCourier_DisablesAnEndpointThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "gone")
	f.addEvents(t, 1, 1)
	f.start(t, newReceivers(answers{"gone": fails(410)}))

	f.wantEndpoint(t, "gone", "answered 410 Gone", false)

	if diff := cmp.Diff([]string{"gone pending 1: 1"}, f.statuses(t)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	want := []string{
		`webhook_endpoint/1 {"reason": "answered 410 Gone", "seller_id": "shop", "endpoint_id": 1}`,
		`system DisableWebhookEndpoint webhook_endpoint/1 {"reason": "answered 410 Gone", "seller_id": "shop"}`,
	}
	got := f.read(t, `SELECT concat_ws(' ', aggregate, data) FROM outbox WHERE type = 'webhook_endpoint.disabled'
		UNION ALL SELECT concat_ws(' ', actor, action, resource, metadata) FROM audit_log`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event and audit entry (-want +got):\n%s", diff)
	}
}

func TestCourier_DisablesAnEndpointThatFailsForFiveDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "broken", "recovers")
	f.addEvents(t, 1, 1)
	r := newReceivers(answers{"broken": fails(500), "recovers": func(ctx context.Context, a webhook.Attempt) webhook.Outcome {
		if a.Number == 1 {
			return fails(503)(ctx, a)
		}
		return webhook.Outcome{Status: 200}
	}})
	f.start(t, r)
	attempted := func(n int) {
		t.Helper()
		testwait.Until(t, "the attempts are recorded", func() bool {
			return len(f.read(t, `SELECT 1::text FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
				WHERE e.url = 'broken' AND d.attempts = $1 AND d.next_attempt_at > now() + interval '1 minute'`, n)) == 1
		})
	}
	f.wantEndpoint(t, "broken", "", true)
	f.wantEndpoint(t, "recovers", "", true)

	f.execute(t, `UPDATE webhook_endpoint SET failing_since = now() - interval '4 days 23 hours'`)
	f.letRetry(t)
	attempted(2)
	f.wantEndpoint(t, "broken", "", true)
	f.wantEndpoint(t, "recovers", "", false)

	f.execute(t, `UPDATE webhook_endpoint SET failing_since = now() - interval '5 days' WHERE url = 'broken'`)
	f.letRetry(t)
	f.wantEndpoint(t, "broken", "failed for five days", true)
	f.wantEndpoint(t, "recovers", "", false)
}

func TestCourier_SignsWithBothSecretsDuringARotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addEndpoints(t, "works")
	r := newReceivers(nil)
	f.start(t, r)
	for n, c := range []struct {
		change string
		want   []string
	}{
		{`SELECT 1`, []string{"whsec_1"}},
		{`UPDATE webhook_endpoint SET secret = 'whsec_2', previous_secret = secret, previous_until = now() + interval '1 day'`, []string{"whsec_2", "whsec_1"}},
		{`UPDATE webhook_endpoint SET previous_until = now()`, []string{"whsec_2"}},
	} {
		f.execute(t, c.change)
		f.addEvents(t, 1, 1)
		testwait.Until(t, "the event arrives", func() bool { return len(r.bodies("works")) == n+1 })
		if diff := cmp.Diff(c.want, r.attempts("works")[n].Secrets); diff != "" {
			t.Errorf("secrets after %s (-want +got):\n%s", c.change, diff)
		}
	}
}
