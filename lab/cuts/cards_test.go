package cuts_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

const payByCard = `{"method": "card", "payment_method": "pm_card_visa"}`

// cardCommands prepare the commands whose money a card provider moves later. Each writes
// an intent and its job.
var cardCommands = map[string]func(t *testing.T, f *jobFixture) e2e.Command{
	"confirmPayment by card": func(t *testing.T, f *jobFixture) e2e.Command {
		t.Helper()
		c := f.Prepare(t, "confirmPayment")
		c.Call = c.Call.WithBody(payByCard)
		return c
	},
	"refundPayment to a card": func(t *testing.T, f *jobFixture) e2e.Command {
		t.Helper()
		return f.onCardPayment(t, "/payment/refund", `{"amount": {"amount": "50.00", "currency": "RUB"}}`)
	},
	"cancelOrder paid by card": func(t *testing.T, f *jobFixture) e2e.Command {
		t.Helper()
		return f.onCardPayment(t, "/cancel", `{}`)
	},
}

// onCardPayment prepares a command on an order that is paid by card. Its effects are the
// refunds that have a job.
func (f *jobFixture) onCardPayment(t *testing.T, path, body string) e2e.Command {
	t.Helper()
	c := f.Prepare(t, "confirmPayment")
	f.settle(t, e2e.Want[e2e.Payment](t, f.Service, http.StatusOK, c.Call.WithBody(payByCard).WithKey(f.NewKey())))
	c.Call.Path = strings.Replace(c.Call.Path, "/payment/confirm", path, 1)
	c.Call = c.Call.WithBody(body)
	c.Effects.SQL = `SELECT count(*) FROM refund r JOIN river.river_job j ON j.kind = 'settle_refund' AND (j.args->>'id')::bigint = r.id
		WHERE r.order_id = $1`
	return c.CountedAnew(t)
}

func cutCardCommand(prepare func(t *testing.T, f *jobFixture) e2e.Command) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		f := newJobFixture(t)
		r := replicas{f.cutter, f.cutReplica, f.Service}
		r.cutCommand(t, func() command { return effective(prepare(t, f)) })
	}
}
