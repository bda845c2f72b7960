package fakestripe_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/dev/fakestripe"
)

func TestWebhooks_ReportWhatHappened(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"pm_card_visa":     {"payment_intent.created", "payment_intent.succeeded"},
		"pm_card_declined": {"payment_intent.created", "payment_intent.payment_failed"},
		"pm_late":          {"payment_intent.created", "payment_intent.processing", "payment_intent.succeeded"},
		"pm_late_declined": {"payment_intent.created", "payment_intent.processing", "payment_intent.payment_failed"},
		"pm_twice": {
			"payment_intent.succeeded", "payment_intent.processing", "payment_intent.created",
			"payment_intent.succeeded", "payment_intent.processing", "payment_intent.created",
		},
	}
	for token, want := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			receiver := newReceiver(t, 0)
			f := start(t, fakestripe.Config{WebhookURL: receiver.url, WebhookSecret: "whsec_1", Late: time.Hour})
			if _, _, err := f.charge(t, token); err != nil {
				t.Fatal(err)
			}
			f.decideLate(t)
			if err := f.server.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, receiver.received()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWebhooks_WaitWhileThereIsNoURL(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, 0)
	f := start(t, fakestripe.Config{WebhookSecret: "whsec_1"})
	f.mustCharge(t, "pm_card_visa")
	for _, url := range []string{"", receiver.url} {
		f.server.SendTo(url)
		if err := f.server.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		webhooks, err := f.server.Webhooks(t.Context())
		if err != nil || len(webhooks) != 2 {
			t.Fatalf("%d webhooks, err = %v; want 2", len(webhooks), err)
		}
		if sent := url != ""; webhooks[0].Delivered != sent {
			t.Errorf("URL %q: delivered = %t, want %t", url, webhooks[0].Delivered, sent)
		}
	}
	if got := receiver.received(); len(got) != 2 {
		t.Errorf("received %v, want 2 events", got)
	}
}

func TestWebhooks_AreSentAfterTheirDelay(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, 0)
	f := start(t, fakestripe.Config{
		WebhookURL: receiver.url, WebhookSecret: "whsec_1", WebhookDelay: time.Hour,
	})
	f.mustCharge(t, "pm_card_visa")
	if err := f.server.Deliver(t.Context()); err != nil {
		t.Error(err)
	}
	if got := receiver.received(); len(got) != 0 {
		t.Errorf("received %v before the delay was over", got)
	}
}

func TestSendWebhooks_RetriesUntilTheReceiverAccepts(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, 3)
	f := start(t, fakestripe.Config{WebhookURL: receiver.url, WebhookSecret: "whsec_1"})
	f.mustCharge(t, "pm_card_visa")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		f.server.SendWebhooks(ctx)
		close(ended)
	}()
	got := map[string]bool{receiver.next(t): true, receiver.next(t): true}
	cancel()
	<-ended
	want := []string{"payment_intent.created", "payment_intent.succeeded"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
