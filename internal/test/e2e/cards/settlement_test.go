package cards_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
)

// jobOf is the condition for the job of one payment or refund. Its parameters are the kind
// and the ID.
const jobOf = `kind = $1 AND args @> jsonb_build_object('id', $2::bigint)`

// The process that rescues jobs need not be one that accepts cards.
func TestSettlement_SurvivesRescueByProcessWithoutCards(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	c.Exec(t, `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '1 hour', attempted_by = '{dead}'
		WHERE `+jobOf, "settle_payment", p.ID)

	c.StartReplica(t).Run(t) // without cards
	e2e.Eventually(t, "the job is rescued", func() bool {
		return c.Count(t, `SELECT count(*) FROM river.river_job WHERE state IN ('available', 'discarded') AND `+jobOf, "settle_payment", p.ID) == 1
	})
	if n := c.Count(t, `SELECT count(*) FROM river.river_job WHERE state = 'available' AND attempt = 1 AND `+jobOf, "settle_payment", p.ID); n != 1 {
		t.Error("the process without cards threw the job away, or ran it")
	}

	c.Run(t)
	if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	c.wantSameMoney(t)
}
