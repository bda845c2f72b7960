package fakestripe_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/dev/fakestripe"
)

// charged captures 19.99 and returns the intent. No webhook waits then.
func charged(t *testing.T, server *fakestripe.Server) (intent string) {
	t.Helper()
	charge(t, server, "pm_card_visa")
	intent, _, err := server.LatestCharge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting(t, server)
	return intent
}

// waiting takes the webhooks that wait, and returns type, status and moved money of each.
func waiting(t *testing.T, server *fakestripe.Server) (lines []string) {
	t.Helper()
	err := server.ArrangeWebhooks(t.Context(), func(webhooks []fakestripe.Webhook) []fakestripe.Webhook {
		for _, w := range webhooks {
			var e struct {
				Data struct {
					Object struct {
						Status       string
						Transactions []struct{ Amount json.Number } `json:"balance_transactions"`
					}
				}
			}
			if err := json.Unmarshal([]byte(w.Payload), &e); err != nil {
				t.Fatal(err)
			}
			line := w.Type + " " + e.Data.Object.Status
			for _, moved := range e.Data.Object.Transactions {
				line += " " + moved.Amount.String()
			}
			lines = append(lines, strings.TrimSpace(line))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRefundInDashboard_MovesMoneyAndSaysSo(t *testing.T) {
	t.Parallel()
	server := open(t, fakestripe.Config{})
	intent := charged(t, server)
	id, err := server.RefundInDashboard(t.Context(), intent, 1_000, "succeeded")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.RefundInDashboard(t.Context(), intent, 1_000, "succeeded"); err == nil {
		t.Error("more was refunded than had been charged")
	}
	got := waiting(t, server)
	if err := server.FailRefund(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	got = append(got, waiting(t, server)...)
	want := []string{"refund.created pending", "refund.updated succeeded", "charge.refunded", "refund.failed failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDispute_MovesMoneyAsItsStatusSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settlement string
		steps      []string
		want       []string
	}{
		"won": {"", []string{fakestripe.NeedsResponse, fakestripe.UnderReview, fakestripe.Won}, []string{
			"charge.dispute.created needs_response", "charge.dispute.funds_withdrawn needs_response -500",
			"charge.dispute.updated under_review -500",
			"charge.dispute.closed won -500 500", "charge.dispute.funds_reinstated won -500 500",
		}},
		"settled in another currency": {"eur", []string{fakestripe.NeedsResponse, fakestripe.Won, fakestripe.Lost}, []string{
			"charge.dispute.created needs_response", "charge.dispute.funds_withdrawn needs_response -1500",
			"charge.dispute.closed won -1500 1000", "charge.dispute.funds_reinstated won -1500 1000",
			"charge.dispute.closed lost -1500 1000 -1500", "charge.dispute.funds_withdrawn lost -1500 1000 -1500",
		}},
		"lost": {"", []string{fakestripe.NeedsResponse, fakestripe.Lost}, []string{
			"charge.dispute.created needs_response", "charge.dispute.funds_withdrawn needs_response -500",
			"charge.dispute.closed lost -500",
		}},
		"prevented": {"", []string{fakestripe.Prevented}, []string{
			"charge.dispute.created prevented", "charge.dispute.funds_withdrawn prevented -500",
		}},
		"lost, and then won": {"", []string{fakestripe.NeedsResponse, fakestripe.Lost, fakestripe.Won}, []string{
			"charge.dispute.created needs_response", "charge.dispute.funds_withdrawn needs_response -500",
			"charge.dispute.closed lost -500",
			"charge.dispute.closed won -500 500", "charge.dispute.funds_reinstated won -500 500",
		}},
		"escalated inquiry": {"", []string{fakestripe.Inquiry, fakestripe.NeedsResponse}, []string{
			"charge.dispute.created warning_needs_response",
			"charge.dispute.updated needs_response -500", "charge.dispute.funds_withdrawn needs_response -500",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := open(t, fakestripe.Config{Settlement: c.settlement})
			id, err := server.OpenDispute(t.Context(), charged(t, server), 500, c.steps[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, next := range c.steps[1:] {
				if err := server.StepDispute(t.Context(), id, next); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, waiting(t, server)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDispute_StopsRefundsAndIsListed(t *testing.T) {
	t.Parallel()
	server := open(t, fakestripe.Config{})
	intent := charged(t, server)
	if _, err := server.OpenDispute(t.Context(), intent, 500, fakestripe.NeedsResponse); err != nil {
		t.Fatal(err)
	}
	refund := send(t, server, "/v1/refunds", "refund-1", url.Values{"payment_intent": {intent}, "amount": {"1"}})
	if refund != "400 invalid_request_error charge_disputed" {
		t.Errorf("a refund of a disputed charge: %s", refund)
	}
	w := httptest.NewRecorder()
	server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/disputes?expand[0]=data.payment_intent&payment_intent="+intent, nil))
	if !strings.Contains(w.Body.String(), `"orders_payment":"payment-7"`) || w.Code != http.StatusOK {
		t.Errorf("disputes: %d %s", w.Code, w.Body)
	}
}
