package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCommand_SaysHowItsResultCameAbout(t *testing.T) {
	c, s := newClient(t, created)
	got, err := order(t.Context(), c, "cart-1")
	want := Outcome{
		Key: s.sent[0].key, Replayed: false, RequestID: "r-1",
		Expires: time.Date(2026, 11, 24, 16, 42, 49, 0, time.UTC),
	}
	if diff := diffOf(want, got.Outcome); diff != "" || err != nil {
		t.Errorf("err = %v, outcome (-want +got):\n%s", err, diff)
	}
}

func TestKeyReused_LooksUpTheKeyAndKeepsIt(t *testing.T) {
	reused := refuses(http.StatusConflict, `"code": "idempotency_key_reused", "retryable": false, "next_key": "look_up"`)
	record := responds(http.StatusOK, `{"key": "k-1", "state": "completed", "command": "confirmPayment", "status": 200}`)
	c, s := newClient(t, reused, record)

	_, err := order(t.Context(), c, "cart-1")

	problem, ok := errors.AsType[*Problem](err)
	if !ok || problem.Code != IdempotencyKeyReused || problem.Record == nil || problem.Record.Command != "confirmPayment" {
		t.Errorf("err = %#v", err)
	}
	if got, want := s.sent[1].path, "/idempotency-keys/"+s.sent[0].key; got != want {
		t.Errorf("looked up %s, want %s", got, want)
	}
	if text := fmt.Sprint(err); !strings.Contains(text, "cart-1") || !strings.Contains(text, "keeps its key") {
		t.Errorf("err = %v", err)
	}
}

func TestForget_MakesTheNextCallANewOperation(t *testing.T) {
	c, s := newClient(t, created)
	for range 2 {
		if _, err := order(t.Context(), c, "cart-1"); err != nil {
			t.Fatal(err)
		}
		if err := c.Forget(t.Context(), "cart-1"); err != nil {
			t.Fatal(err)
		}
	}
	if s.sent[0].key == s.sent[1].key {
		t.Errorf("both have the key %s", s.sent[0].key)
	}
}

func TestKeys_AreNotSharedByServicesPrincipalsAndNames(t *testing.T) {
	var shared MemoryStore
	keys := map[string]bool{}
	for _, config := range []Config{
		{URL: "https://orders.test"}, {URL: "https://orders.test/"}, // the same
		{URL: "https://staging.test"}, {URL: "https://orders.test", Principal: "sber-42"},
	} {
		s := &service{answers: []answer{created}}
		config.Token, config.Keys, config.Transport = StaticToken(""), &shared, s
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cart-1", "cart-2"} {
			if _, err := order(t.Context(), c, name); err != nil {
				t.Fatal(err)
			}
		}
		keys[s.sent[0].key], keys[s.sent[1].key] = true, true
	}
	if len(keys) != 3*2 {
		t.Errorf("%d keys for two names of three clients", len(keys))
	}
}

func TestCommand_SendsNothingWithoutAStoredKey(t *testing.T) {
	c, s := newClient(t, created)
	if _, err := order(t.Context(), c, ""); err == nil {
		t.Error("an operation without a name was accepted")
	}
	c.config.Keys = &FileStore{t.TempDir() + "/missing"}
	if _, err := order(t.Context(), c, "cart-1"); err == nil {
		t.Error("a key that could not be stored was used")
	}
	if len(s.sent) != 0 {
		t.Errorf("sent %+v", s.sent)
	}
}

func TestCommand_TakesNoMemberOfAForeignAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, foreign := range []string{`{"reference": "theirs"}`, `{"reference": "theirs", "id": "7"}`} {
			c, _ := newClient(t, responds(http.StatusCreated, foreign), responds(http.StatusCreated, `{"id": 1041, "reference": null}`))
			if got, err := order(t.Context(), c, "cart-1"); err != nil || got.ID != 1041 || got.Reference != "" {
				t.Errorf("order %+v, err = %v", got, err)
			}
		}
	})
}

// A store may keep keys as the header is written in the IETF draft.
func TestCommand_KnowsTheEchoOfAQuotedKey(t *testing.T) {
	c, s := newClient(t, created)
	c.config.Keys = quoting{c.config.Keys}
	if _, err := order(t.Context(), c, "cart-1"); err != nil || !strings.HasPrefix(s.sent[0].key, `"`) {
		t.Errorf("sent %+v, err = %v", s.sent, err)
	}
}

type quoting struct{ KeyStore }

func (q quoting) Key(ctx context.Context, operation string) (string, error) {
	key, err := q.KeyStore.Key(ctx, operation)
	return `"` + key + `"`, err
}

func TestRefundPaymentInFull_SaysSo(t *testing.T) {
	c, s := newClient(t, responds(http.StatusOK, `{"id": 8}`))
	if _, err := c.RefundPaymentInFull(t.Context(), "torn", 17, FullRefund{Reason: "torn"}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.sent[0].path+" "+s.sent[0].body, `/orders/17/payment/refund {"full":true,"reason":"torn"}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestCommand_SendsNoAmountThatItsCallerForgot(t *testing.T) {
	c, s := newClient(t, created)
	for _, forgotten := range []Money{{}, {Currency: "RUB"}, {Amount: "0", Currency: "RUB"}, {Amount: "0.00", Currency: "RUB"}, {Amount: "1.00"}} {
		_, refunded := c.RefundPayment(t.Context(), "torn", 17, RefundOf{Amount: forgotten})
		_, credited := c.CreditBalance(t.Context(), "salary", "sber-42", Credit{Amount: forgotten})
		_, charged := c.ChargeBalance(t.Context(), "fee", "sber-42", Charge{Amount: forgotten})
		if refunded == nil || credited == nil || charged == nil {
			t.Errorf("%+v: %v, %v, %v; want errors", forgotten, refunded, credited, charged)
		}
	}
	if len(s.sent) != 0 {
		t.Errorf("sent %+v", s.sent)
	}
}

func TestRefusal_DropsItsKeyThoughTheCallerHasStoppedWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	refused := func(r *http.Request) (*http.Response, error) {
		cancel()
		return outOfStock(r)
	}
	c, s := newClient(t, refused, created)
	c.config.Keys = newFileStore(t, t.TempDir())

	_, _ = order(ctx, c, "cart-1")
	if _, err := order(t.Context(), c, "cart-1"); err != nil || s.sent[0].key == s.sent[1].key {
		t.Errorf("err = %v, sent %+v", err, s.sent)
	}
}
