package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWebhooks_ListsAndChangesThem(t *testing.T) {
	t.Parallel()
	const endpoint = `INSERT INTO webhook_endpoint (id, owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at,
		failing_since, disabled_at, disabled_reason) OVERRIDING SYSTEM VALUE VALUES `
	const delivery = `INSERT INTO webhook_delivery (id, endpoint_id, event_id, event_type, aggregate, position, body, status, attempts, next_attempt_at,
		response_status, error, event_at, finished_at) OVERRIDING SYSTEM VALUE VALUES `
	s := newShift(t,
		endpoint+`(1, 'shop', 'shop', 'https://example.com/a?token=hunter2', '{*}', '', false, 'whsec_1', 'epoch', now(), '2026-11-26Z', NULL, NULL),
			(2, 'root', NULL, 'https://example.com/b', '{*}', '', false, 'whsec_1', now(), now(), NULL, now(), 'answered 410 Gone'),
			(3, 'well', 'well', 'https://example.com/c', '{*}', '', false, 'whsec_1', now(), now(), NULL, NULL, NULL)`,
		delivery+`(1, 1, '00000000-0000-7000-8000-000000000001', 'order.paid', 'order/1', 1, '{}', 'pending', 2, '2026-11-27Z', 500, 'status', '2026-11-26Z', NULL),
			(2, 1, '00000000-0000-7000-8000-000000000002', 'order.paid', 'order/2', 2, '{}', 'failed', 10, NULL, NULL, 'timeout', '2026-11-20Z', now()),
			(3, 1, '00000000-0000-7000-8000-000000000003', 'order.paid', 'order/3', 3, '{}', 'delivered', 1, NULL, 204, NULL, '2026-11-25Z', now()),
			(4, 1, '00000000-0000-7000-8000-000000000004', 'order.paid', 'order/4', 4, '{}', 'delivered', 1, NULL, 204, NULL, '2026-11-19Z', now())`)

	want := "2 * https://example.com/b pending 0 answered 410 Gone\n" +
		"1 shop https://example.com/a pending 1 failing since 2026-11-26 00:00:00"
	if got := strings.Join(words(executed(t, "webhooks list", s.environ).out), "\n"); got != want {
		t.Errorf("it lists\n%s\nwant\n%s", got, want)
	}

	const statuses = "SELECT concat_ws(' ', id, status, attempts, finished_at IS NULL) FROM webhook_delivery ORDER BY id"
	s.change(t, "webhooks retry -actor ann 1", statuses, "1 pending 2 t", "2 pending 0 t", "3 delivered 1 f", "4 delivered 1 f")
	s.change(t, "webhooks retry -actor ann -from 2026-11-20T00:00:00Z 1", statuses, "1 pending 2 t", "2 pending 0 t", "3 pending 0 t", "4 delivered 1 f")
	s.change(t, "webhooks disable -actor ann 3", "SELECT concat_ws(' ', disabled_reason, disabled_at IS NULL) FROM webhook_endpoint WHERE id = 3",
		"disabled by an operator f")
	s.wantAudited(t, "ann RetryWebhookEndpoint webhook_endpoint/1 orders_oncall", "ann RetryWebhookEndpoint webhook_endpoint/1 orders_oncall",
		"ann DisableWebhookEndpoint webhook_endpoint/3 orders_oncall")
}

// change runs a command that must succeed, and compares what a query finds then.
func (s shift) change(t *testing.T, args, query string, want ...string) {
	t.Helper()
	if got := executed(t, args, s.environ); got != (outcome{}) {
		t.Errorf("orders %s: %+v", args, got)
	}
	if diff := cmp.Diff(want, s.read(t, query)); diff != "" {
		t.Errorf("after orders %s (-want +got):\n%s", args, diff)
	}
}

func TestWebhooks_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	s := newShift(t)
	for args, problem := range map[string]string{
		"webhooks":                                "usage: list, or retry|disable with IDs; a change needs -actor NAME",
		"webhooks discard -actor ann 1":           "usage: list, or retry|disable with IDs; a change needs -actor NAME",
		"webhooks show 1":                         "usage: list, or retry|disable with IDs; a change needs -actor NAME",
		"webhooks retry -actor ann -from today 1": "usage: list, or retry|disable with IDs; a change needs -actor NAME",
		"webhooks retry 1":                        "-actor must be your name, for the audit log, and precede the IDs",
		"webhooks retry -actor ann 1":             `retry "1": there is no such endpoint, or it has no such deliveries`,
		"webhooks disable -actor ann 1":           `disable "1": there is no such endpoint, or it is disabled`,
		"webhooks disable -actor ann -from 2026-11-20T00:00:00Z 1": `disable "1": -from is for retry`,
	} {
		s.wantRefused(t, 1, args, problem)
	}
	s.wantAudited(t)
}
