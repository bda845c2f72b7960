package cards_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
)

// startThief starts a server to which a provider redirects. It counts what arrives.
func startThief(t testing.TB) (thiefURL string, stolen *atomic.Int64) {
	t.Helper()
	stolen = &atomic.Int64{}
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(thief.Close)
	return thief.URL, stolen
}

// The thief has another port of the same host, which is enough for net/http to send our
// key along.
func TestSettlement_TakesItsKeyNowhereElse(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	thief, stolen := startThief(t)
	c.provider.SetHook(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, thief+r.URL.Path, http.StatusTemporaryRedirect)
	})
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	log := c.runWithLog(t, c.provider.URL)
	c.awaitFailedAttempt(t, p)
	if n := stolen.Load(); n != 0 {
		t.Errorf("%d requests followed the redirect", n)
	}
	c.wantHidden(t, log, thief)

	c.provider.SetHook(nil) // the provider answers itself
	if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
		t.Errorf("after the redirects the payment is %s, want captured", got)
	}
	c.wantSameMoney(t)
}

func TestSettlement_RecordsNoAddressWhenItCannotConnect(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	log := c.runWithLog(t, e2e.SilentProvider)
	c.awaitFailedAttempt(t, p)
	c.wantHidden(t, log, e2e.SilentProvider)
}

// runWithLog runs a replica with its jobs, and returns its log.
func (c cardShop) runWithLog(t testing.TB, providerURL string) *e2e.Buffer {
	t.Helper()
	log := &e2e.Buffer{}
	newLog := func(cfg config.Config) zerolog.Logger { return app.NewLog(cfg, log) }
	c.StartReplicaWithLog(t, newLog, e2e.CardSettings(providerURL)...).Run(t)
	return log
}

// awaitFailedAttempt waits until the job of a payment has failed.
func (c cardShop) awaitFailedAttempt(t testing.TB, p e2e.Payment) {
	t.Helper()
	e2e.Eventually(t, "an attempt has failed", func() bool {
		return c.Count(t, `SELECT count(*) FROM river.river_job WHERE cardinality(errors) > 0 AND `+jobOf, "settle_payment", p.ID) == 1
	})
}

// wantHidden checks that neither the jobs nor the events nor the log have the address or
// the key of the provider. The log must have the error of the job.
func (c cardShop) wantHidden(t testing.TB, log *e2e.Buffer, address string) {
	t.Helper()
	places := map[string]string{"the log": log.String()}
	for place, query := range map[string]string{
		"a job":    `SELECT coalesce(string_agg(j::text, ' '), '') FROM river.river_job j`,
		"an event": `SELECT coalesce(string_agg(o::text, ' '), '') FROM outbox o`,
	} {
		var rows string
		if err := c.DB.QueryRow(t.Context(), query).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		places[place] = rows
	}
	if !strings.Contains(places["the log"], "stripe: ") || !strings.Contains(places["a job"], "stripe: ") {
		t.Errorf("log or job does not say what failed: this proves nothing\n%s\n%s", places["the log"], places["a job"])
	}
	host := strings.TrimPrefix(address, "http://")
	for place, text := range places {
		for _, secret := range []string{host, c.provider.URL, "://", "/v1/", e2e.StripeKey, e2e.WebhookSecret} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s: %s", secret, place, text)
			}
		}
	}
}
