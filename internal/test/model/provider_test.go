package modeltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/test/commands"
	"example.com/orders/internal/test/invariants"
	"example.com/orders/internal/test/memory"
	pgtest "example.com/orders/internal/test/pg"
)

// cardService holds the use cases, and reads what they have written.
type cardService struct {
	commands.Service
	now func() time.Time
	// provider returns the units on the account of the provider that belong to a payment, by
	// currency.
	provider func(paymentID int64) map[core.Currency]int
	// events returns how often each type was published about a payment.
	events func(paymentID int64) map[core.EventType]int
}

func TestProviderOnMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		store := memory.New(func() time.Time { now = now.Add(time.Second); return now })
		store.Twice = true
		runCard(t, cardService{
			Service: commands.NewService(store.Orders(), store.Payments(), nil),
			now:     func() time.Time { return now },
			provider: func(paymentID int64) map[core.Currency]int {
				sums := map[core.Currency]int{}
				for _, e := range store.Entries() {
					if e.PaymentID == paymentID && e.Debit == payment.ProviderAccount {
						sums[e.Amount.Currency()] += units(e.Amount)
					}
					if e.PaymentID == paymentID && e.Credit == payment.ProviderAccount {
						sums[e.Amount.Currency()] -= units(e.Amount)
					}
				}
				return sums
			},
			events: func(paymentID int64) map[core.EventType]int {
				counted := map[core.EventType]int{}
				for _, e := range store.Events() {
					if e.Aggregate == fmt.Sprintf("payment/%d", paymentID) {
						counted[e.Type]++
					}
				}
				return counted
			},
		})
	})
}

func TestProviderOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url)}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	rapid.Check(t, func(t *rapid.T) {
		runCard(t, cardService{
			Service: commands.NewService(db.Orders(), db.Payments(), nil),
			now:     time.Now,
			provider: func(paymentID int64) map[core.Currency]int {
				return readMap[core.Currency](t, pool, `
					SELECT currency, (sum(CASE 'provider' WHEN debit THEN amount WHEN credit THEN -amount END)
						* CASE currency WHEN 'JPY' THEN 1 WHEN 'RUB' THEN 100 ELSE 1000 END)::int
					FROM ledger_entry WHERE payment_id = $1 AND 'provider' IN (debit, credit) GROUP BY 1`, paymentID)
			},
			events: func(paymentID int64) map[core.EventType]int {
				return readMap[core.EventType](t, pool, `
					SELECT type, count(*)::int FROM outbox WHERE aggregate = 'payment/' || $1::bigint GROUP BY 1`, paymentID)
			},
		})
	})
	invariants.Check(t, pool, nil)
}

// readMap returns the second column by the first one.
func readMap[K ~string](t *rapid.T, pool *pgxpool.Pool, query string, paymentID int64) map[K]int {
	rows, _ := pool.Query(ctx, query, paymentID)
	read := map[K]int{}
	var key K
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error { read[key] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return read
}

// cardMachine drives one card payment and the bank behind it.
type cardMachine struct {
	cardService
	bank     *bank
	customer core.Actor
	order    int64
	payment  int64
	keys     int
	run      string
}

// drawCurrency draws one with no, two or three decimals.
func drawCurrency(t *rapid.T, of string) core.Currency {
	return rapid.SampledFrom([]core.Currency{"JPY", "RUB", "KWD"}).Draw(t, of)
}

// runCard lets the shop, the customer, the bank, the jobs and the webhooks act in any order.
// In the end, reconciliation reads what was lost, and the ledger equals the bank's.
func runCard(t *rapid.T, s cardService) {
	b := &bank{currency: drawCurrency(t, "currency"), settlement: drawCurrency(t, "settlement")}
	m := &cardMachine{cardService: s, bank: b, run: fmt.Sprint("card", runs.Add(1))}
	m.Payments.Gateway, m.customer = m.bank, commands.Customer("ann-"+m.run)
	m.pay(t)
	t.Repeat(map[string]func(*rapid.T){
		"we refund": func(t *rapid.T) {
			m.refund(t, rapid.IntRange(0, 40).Draw(t, "units"))
		},
		"we cancel":         func(t *rapid.T) { m.try(t, commands.Cancel(commands.Seller)) },
		"we ship":           func(t *rapid.T) { m.try(t, commands.Advance(commands.Seller, order.Fulfilling)) },
		"a job":             m.work,
		"the next answer":   m.disturb,
		"they refund":       m.refundThere,
		"they decide":       m.decideRefund,
		"a bank disputes":   m.openDispute,
		"a dispute goes on": m.stepDispute,
		"a late capture":    func(t *rapid.T) { m.captureLate(t) },
		"a webhook":         func(t *rapid.T) { m.deliver(t, rapid.Bool().Draw(t, "again")) },
		"a lost webhook":    m.lose,
		"":                  m.check,
	})
	m.settle(t)
}

// pay orders four pieces for 25 units each and pays them by card, or is declined at first.
func (m *cardMachine) pay(t *rapid.T) {
	sku := "sku-" + m.run
	put := order.PutProduct{SKU: sku, Name: sku, Price: m.bank.units(25), OnHand: new(int64(10))}
	if _, _, err := m.Orders.PutProduct(ctx, commands.Seller, put); err != nil {
		t.Fatal(err)
	}
	answered, err := commands.Order(m.customer, m.customer.Subject, "", []order.Item{{SKU: sku, Quantity: 4}})(ctx, m.Service, 0, m.key())
	if err != nil {
		t.Fatal(err)
	}
	m.order = answered.Created
	if _, err := commands.Confirm(m.customer, payment.ByCard, "pm_card_visa")(ctx, m.Service, m.order, m.key()); err != nil {
		t.Fatal(err)
	}
	m.payment = m.read(t).ID
	m.bank.undecided = rapid.IntRange(0, 4).Draw(t, "declined") == 0
	if err := m.Payments.SettlePayment(ctx, m.payment); err != nil {
		t.Fatal(err)
	}
}

func (m *cardMachine) key() string {
	m.keys++
	return fmt.Sprintf("%s-%d", m.run, m.keys)
}

func (m *cardMachine) read(t *rapid.T) *payment.Payment {
	payments, err := m.Payments.ListPayments(ctx, m.customer, m.order)
	if err != nil || len(payments) != 1 {
		t.Fatalf("%d payments, %v", len(payments), err)
	}
	return payments[0]
}

// refund asks for units, or for all that can be refunded if it is 0.
func (m *cardMachine) refund(t *rapid.T, n int) {
	cmd := payment.RefundPayment{OrderID: m.order, Full: n == 0, Key: m.key()}
	if n > 0 {
		cmd.Amount = new(m.bank.units(n))
	}
	if _, _, err := m.Payments.RefundPayment(ctx, commands.Admin, cmd); err != nil {
		codeOf(t, err)
	}
}

// try runs a command, which may be refused.
func (m *cardMachine) try(t *rapid.T, call commands.Call) {
	if _, err := call(ctx, m.Service, m.order, m.key()); err != nil {
		codeOf(t, err)
	}
}

// work runs the jobs of the payment and the refunds, which may stay undecided.
func (m *cardMachine) work(t *rapid.T) {
	if err := m.Payments.SettlePayment(ctx, m.payment); err != nil {
		t.Fatal(err)
	}
	for _, r := range m.read(t).Refunds {
		err := m.Payments.SettleRefund(ctx, r.ID)
		if err != nil && !errors.Is(err, payment.ErrUndecided) {
			t.Fatal(err)
		}
	}
}

func (m *cardMachine) disturb(t *rapid.T) {
	m.bank.losesAnswer, m.bank.undecided = rapid.Bool().Draw(t, "lost"), rapid.Bool().Draw(t, "undecided")
}

func (m *cardMachine) refundThere(t *rapid.T) {
	units := rapid.IntRange(1, 100).Draw(t, "units")
	if !m.bank.charged || m.bank.chargedBack() || m.bank.left() < units {
		t.Skip("the provider refuses")
	}
	m.bank.make(cards.Terms{Amount: m.bank.units(units)})
}

func (m *cardMachine) decideRefund(t *rapid.T) {
	if len(m.bank.refunds) == 0 {
		t.Skip("no refund")
	}
	outcome := rapid.SampledFrom([]cards.ChargeOutcome{cards.ChargeSucceeded, cards.ChargeRefused}).Draw(t, "outcome")
	m.bank.decide(rapid.SampledFrom(m.bank.refunds).Draw(t, "refund"), outcome)
}

func (m *cardMachine) openDispute(t *rapid.T) {
	if !m.bank.charged || len(m.bank.disputes) > 2 {
		t.Skip("nothing to dispute")
	}
	status := rapid.SampledFrom([]cards.DisputeStatus{cards.InquiryNeedsResponse, cards.DisputeNeedsResponse}).Draw(t, "status")
	m.bank.open(rapid.SampledFrom([]int{10, 30, 100}).Draw(t, "units"), status)
}

// nextSteps are the statuses that may follow.
var nextSteps = map[cards.DisputeStatus][]cards.DisputeStatus{
	cards.InquiryNeedsResponse: {cards.InquiryUnderReview, cards.InquiryClosed, cards.DisputeNeedsResponse},
	cards.InquiryUnderReview:   {cards.InquiryClosed, cards.DisputeNeedsResponse},
	cards.InquiryClosed:        {cards.DisputeNeedsResponse},
	cards.DisputeNeedsResponse: {cards.DisputeUnderReview, cards.DisputeLost, cards.DisputePrevented},
	cards.DisputeUnderReview:   {cards.DisputeWon, cards.DisputeLost},
	cards.DisputeWon:           {cards.DisputeLost},
	cards.DisputeLost:          {cards.DisputeWon},
}

func (m *cardMachine) stepDispute(t *rapid.T) {
	if len(m.bank.disputes) == 0 {
		t.Skip("no dispute")
	}
	d := rapid.SampledFrom(m.bank.disputes).Draw(t, "dispute")
	if len(nextSteps[d.Status]) == 0 {
		t.Skip("it is final")
	}
	m.bank.step(d, rapid.SampledFrom(nextSteps[d.Status]).Draw(t, "status"))
}

// captureLate captures the money of a payment that has failed here.
func (m *cardMachine) captureLate(t *rapid.T) {
	if m.bank.charged {
		t.Skip("it is captured")
	}
	m.bank.charged = true
	m.bank.report(cards.Report{Result: m.bank.captured()})
}

// deliver delivers any report that was sent, and keeps it if it comes again.
func (m *cardMachine) deliver(t *rapid.T, again bool) {
	if len(m.bank.sent) == 0 {
		t.Skip("nothing was sent")
	}
	i := rapid.IntRange(0, len(m.bank.sent)-1).Draw(t, "report")
	event := payment.ProviderEvent{
		Message: core.Message{Source: "stripe", ID: m.key(), SentAt: m.now()}, Report: m.bank.sent[i],
	}
	for range 2 {
		if _, _, err := m.Payments.ApplyProviderEvent(ctx, event); err != nil { // a mismatch is settled by the job
			t.Fatalf("%+v: %v", event.Report, err)
		}
	}
	if !again {
		m.bank.sent = append(m.bank.sent[:i:i], m.bank.sent[i+1:]...)
	}
}

func (m *cardMachine) lose(t *rapid.T) {
	if len(m.bank.sent) == 0 {
		t.Skip("nothing was sent")
	}
	if m.bank.sent[0].Result.ExternalID == m.bank.chargeID() {
		t.Skip("the capture is found by the comparison of charges")
	}
	m.bank.sent = m.bank.sent[1:]
}

// check holds after every step: no more is refunded than was paid.
func (m *cardMachine) check(t *rapid.T) {
	p := m.read(t)
	refunded := 0
	for _, r := range p.Refunds {
		if r.Status == payment.RefundSucceeded {
			refunded += units(r.Amount)
		}
	}
	if refunded > units(p.Amount) {
		t.Fatalf("%d units refunded of %s", refunded, p.Amount)
	}
}

// settle lets reconciliation read everything and the jobs end, and compares.
func (m *cardMachine) settle(t *rapid.T) {
	for _, r := range m.bank.refunds {
		if r.Outcome == cards.ChargePending {
			m.bank.decide(r, cards.ChargeSucceeded)
		}
	}
	m.bank.losesAnswer, m.bank.undecided = false, false
	for len(m.bank.sent) > 0 {
		m.deliver(t, false)
	}
	for range 3 {
		reports, _ := m.bank.Reports(context.Background(), cards.ReportQuery{})
		if mismatches, err := m.Payments.ApplyReports(ctx, reports); len(mismatches) > 0 || err != nil {
			t.Fatalf("%v, %v", mismatches, err)
		}
		m.work(t)
	}
	m.compareRefunds(t)
	m.compareDisputes(t)
	if ours, theirs := m.provider(m.payment), m.bank.holds(); !maps.Equal(ours, theirs) {
		t.Fatalf("%v units in our ledger, %v at the provider", ours, theirs)
	}
}

func (m *cardMachine) compareRefunds(t *rapid.T) {
	p, made := m.read(t), map[string]bool{}
	counted := m.events(p.ID)
	succeeded, failed := 0, 0
	for _, r := range p.Refunds {
		made[r.ExternalID] = r.Status == payment.RefundSucceeded
		if r.Status == payment.RefundPending {
			t.Fatalf("refund %d of %s is still pending", r.ID, r.Amount)
		}
		if r.Status == payment.RefundFailed {
			failed++
		} else {
			succeeded++
		}
	}
	for _, r := range m.bank.refunds {
		if made[r.ExternalID] != (r.Outcome == cards.ChargeSucceeded) {
			t.Fatalf("%s of %s: succeeded here %v, at the provider %d", r.ExternalID, r.Amount, made[r.ExternalID], r.Outcome)
		}
	}
	if counted[payment.EventRefundPending] != len(p.Refunds) || counted[payment.EventRefundFailed] != failed ||
		counted[payment.EventRefundSucceeded] < succeeded || counted[payment.EventRefundSucceeded] > len(p.Refunds) {
		t.Fatalf("%v for %d refunds, %d of them failed", counted, len(p.Refunds), failed)
	}
}

func (m *cardMachine) compareDisputes(t *rapid.T) {
	p := m.read(t)
	if len(p.Disputes) != len(m.bank.disputes) {
		t.Fatalf("%d disputes here, %d at the provider", len(p.Disputes), len(m.bank.disputes))
	}
	theirs := map[string]cards.DisputeStatus{}
	for _, d := range m.bank.disputes {
		theirs[d.ID] = d.Status
	}
	ended := 0
	for _, d := range p.Disputes {
		if d.Status != theirs[d.ID] {
			t.Fatalf("%s is %s here, and %s at the provider", d.ID, d.Status, theirs[d.ID])
		}
		if !d.Status.IsOpen() {
			ended++
		}
	}
	counted := m.events(p.ID)
	if opened := counted[payment.EventPaymentDisputed]; opened < len(p.Disputes) || opened > 2*len(p.Disputes) ||
		counted[payment.EventPaymentDisputeWon]+counted[payment.EventPaymentDisputeLost] < ended {
		t.Fatalf("%v for %d disputes, %d of them ended", counted, len(p.Disputes), ended)
	}
}
