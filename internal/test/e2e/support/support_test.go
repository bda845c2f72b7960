// Package support_test tests the support page on the admin listener.
package support_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// hostile is a reference that would run as a script.
const hostile = `"><script>alert(1)</script>`

// start runs a replica, and returns it with the page address.
func start(t *testing.T, settings ...string) (s *e2e.Service, page string) {
	t.Helper()
	admin := e2e.FreeAddr(t)
	s = e2e.StartShop(t, e2e.Stock{"tea": 10}, append(settings, "ORDERS_ADMIN_ADDR="+admin)...)
	s.Run(t)
	return s, "http://" + admin + "/support"
}

// orderWithReference lets Alice order one packet.
func orderWithReference(t *testing.T, s *e2e.Service, reference string) (e2e.Order, e2e.Call) {
	t.Helper()
	call := s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	call = call.WithBody(fmt.Sprintf(`{"items": [{"sku": "tea", "quantity": 1}], "reference": %q}`, reference))
	return e2e.Want[e2e.Order](t, s, http.StatusCreated, call), call
}

// wantFound looks a term up, and checks the cell texts.
func wantFound(t *testing.T, page, term string, texts ...any) {
	t.Helper()
	status, body := e2e.Fetch(t, page+"?q="+url.QueryEscape(term))
	if status != http.StatusOK {
		t.Errorf("%q: status %d: %s", term, status, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, ">"+html.EscapeString(fmt.Sprint(text))+"<") {
			t.Errorf("%q: the page has no %q: %s", term, text, body)
		}
	}
}

// Alice pays and repeats it, because the response was lost. Then she pays once more with a new key.
func TestSupport_SaysWhatWasChargedAndWhatBecameOfAKey(t *testing.T) {
	t.Parallel()
	s, page := start(t)
	o, creation := orderWithReference(t, s, "till-7")
	s.Credit(t, e2e.Alice, "300.00")
	pay, again := s.ConfirmCall(t, e2e.Alice, o.ID), s.ConfirmCall(t, e2e.Alice, o.ID)
	p := e2e.Want[e2e.Payment](t, s, http.StatusOK, pay)
	if replayed := s.Send(t, pay); !replayed.Replayed() {
		t.Fatalf("the retry: %s", replayed.Verdict())
	}
	refused := s.Send(t, again)
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.CustomerToken(t), o.ID, "30.00"))

	charged := []any{o.ID, p.ID, refund.ID, "100.00 RUB", "30.00 RUB", "captured", "alice " + pay.Key, "confirmPayment", "took effect", "paid"}
	wantFound(t, page, fmt.Sprint(o.ID), charged...)
	wantFound(t, page, fmt.Sprint(p.ID), charged...)
	wantFound(t, page, "till-7", charged...)
	wantFound(t, page, "alice", append(charged, "300.00 RUB", "alice "+again.Key, "refused", refused.Code())...)
	wantFound(t, page, "alice "+pay.Key, charged...)
	wantFound(t, page, "alice "+creation.Key, charged...)
	wantFound(t, page, "alice "+again.Key, "refused", refused.Status, refused.Code())
	if _, body := e2e.Fetch(t, page+"?q="+fmt.Sprint(o.ID)); strings.Count(body, ">captured<") != 1 {
		t.Errorf("Alice was charged once: %s", body)
	}
}

// The card provider does not answer, no broker takes the events, and a webhook has failed.
func TestSupport_SaysWhatAnOrderWaitsFor(t *testing.T) {
	t.Parallel()
	s, page := start(t, e2e.CardSettings(e2e.SilentProvider)...)
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	p := e2e.Want[e2e.Payment](t, s, http.StatusOK, s.CardCall(t, o.ID, "pm_card_visa"))
	s.Exec(t, `WITH made AS (
			INSERT INTO webhook_endpoint (owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
			VALUES ('shop', 'shop', 'https://example.com/?token=1', '{none}', '', false, 'whsec_1', now(), now()) RETURNING id)
		INSERT INTO webhook_delivery (endpoint_id, event_id, event_type, aggregate, position, body, status, attempts, response_status, error, event_at, finished_at)
		SELECT id, gen_random_uuid(), 'payment.processing', 'payment/' || $1, 1, '{}', 'failed', 10, 503, 'bad_status', now(), now() FROM made`, fmt.Sprint(p.ID))

	wantFound(t, page, fmt.Sprint(o.ID), "processing", "settle_payment", "order.payment_processing", "failed", 10, 503, "bad_status")
}

func TestSupport_EscapesTexts(t *testing.T) {
	t.Parallel()
	s, page := start(t)
	o, _ := orderWithReference(t, s, hostile)

	wantFound(t, page, hostile, o.ID, hostile)
	if _, body := e2e.Fetch(t, page+"?q="+url.QueryEscape(hostile)); strings.Contains(body, "<script") {
		t.Errorf("the page has a script: %s", body)
	}
}

// A restore can lose a record, and every record expires.
func TestSupport_SaysThatAKeyHasNoRecord(t *testing.T) {
	t.Parallel()
	s, page := start(t)
	o, creation := orderWithReference(t, s, "till-7")
	s.Exec(t, "UPDATE idempotency_record SET expires_at = now()")
	wantFound(t, page, "alice "+creation.Key, o.ID, "expired")
	s.Exec(t, "DELETE FROM idempotency_record")
	wantFound(t, page, fmt.Sprint(o.ID), "alice "+creation.Key, "no record")
}

// Neither names nor response bodies are for the page.
func TestSupport_ShowsNoProfile(t *testing.T) {
	t.Parallel()
	s, page := start(t)
	orderWithReference(t, s, "till-7")
	s.Exec(t, "INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at) VALUES ('alice', 'Alice Z', 'a@example.com', '+7', now())")

	_, body := e2e.Fetch(t, page+"?q=alice")
	for _, secret := range []string{"Alice Z", "a@example.com", "items"} {
		if strings.Contains(body, secret) {
			t.Errorf("the page has %q: %s", secret, body)
		}
	}
}

func TestSupport_RefusesWhatItCannotFind(t *testing.T) {
	t.Parallel()
	_, page := start(t)
	for query, want := range map[string]int{
		"": http.StatusOK, "?q=nobody": http.StatusNotFound, "?q=alice+absent": http.StatusNotFound, "?q=9223372036854775808": http.StatusNotFound,
		"?q=": http.StatusBadRequest, "?q=a%00b": http.StatusBadRequest, "?q=%ff": http.StatusBadRequest,
		"?q=" + strings.Repeat("a", 512): http.StatusBadRequest, "?q=" + strings.Repeat("a", 511): http.StatusNotFound,
	} {
		if status, body := e2e.Fetch(t, page+query); status != want {
			t.Errorf("%.20s: status %d, want %d: %s", query, status, want, body)
		}
	}
}
