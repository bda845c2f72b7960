package storetest

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

var paymentCases = []storeCase{
	{"order payments hold everything about an order's money", orderPaymentsRoundTrip},
	{"order payments of a customer without money hold a new balance", orderPaymentsWithoutMoney},
	{"payments come with their refunds, the newest first", paymentsOfAnOrder},
	{"payments of all orders are searched by status, method and time", searchedPayments},
	{"a payment and a refund are read with the owners of their order", ownedPayment},
	{"an operation makes one payment, and an order has one live payment", onePayment},
	{"a payment and a refund are found by their UUIDs", paymentByUUID},
	{"what can change about a payment and a refund is updated", updatedPayment},
	{"an operation makes one refund", oneRefundOfAnOperation},
	{"a payment shows its disputes, and an open one is searched", disputedPayment},
	{"a transaction of the provider has one entry of each kind", entryOfTransaction},
	{"an order that is locked again shows the refund of its transaction", ownRefund},
}

func orderPaymentsRoundTrip(t *testing.T, s Stores) {
	tea, cup, o := newProduct(1, "tea"), newProduct(2, "cup"), newOrder(1, "key-1")
	failed, live := newPayment(11, 1, "key-2"), newPayment(12, 1, "key-3")
	failed.Status, failed.Method, failed.Card.Token = payment.Failed, payment.ByCard, "pm_card_visa"
	refund := newRefund(21, live, operation("sber-42", "key-4"))
	s.save(t, tea, cup, newProduct(3, "spoon"), o, newOrder(2, "key-5"), failed, live, newPayment(13, 2, "key-3"), refund)
	s.save(t, newLedgerEntry(31, rub("7.00"), core.Operation{}))
	s.save(t, newLedgerEntry(32, money("8", "JPY"), core.Operation{}))
	live.Refunds = []*payment.Refund{refund}
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		op, err := tx.OrderPayments.Lock(ctx, 1, core.GrantEverybody)
		equal(t, "order payments", op, &payment.OrderPayments{
			Order: o, Stock: order.Stock{"tea": tea, "cup": cup},
			Payments: []*payment.Payment{live, failed},
			Balance:  changedBalance(rub("7.00"), 1, 31),
		})
		return err
	})
}

func orderPaymentsWithoutMoney(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	s.save(t, o)
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		op, err := tx.OrderPayments.Lock(ctx, 1, core.GrantEverybody)
		equal(t, "order payments", op, &payment.OrderPayments{
			Order: o, Balance: &payment.Balance{CustomerID: "sber-42", Amount: rub("0.00"), New: true},
		})
		return err
	})
}

func (s Stores) payments(t *testing.T, orderID int64) []*payment.Payment {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) ([]*payment.Payment, error) {
		return tx.Payments.Of(ctx, orderID)
	})
}

// Ids come in blocks for each process, so they do not show the order.
func paymentsOfAnOrder(t *testing.T, s Stores) {
	first, second, live := newPayment(113, 1, "key-1"), newPayment(12, 1, "key-2"), newPayment(14, 1, "key-3")
	for i, p := range []*payment.Payment{first, second} {
		p.Status, p.Method, p.Card.Token, p.CreatedAt = payment.Failed, payment.ByCard, "pm_card_visa", minute(i)
	}
	asked, other := newRefund(121, live, operation("sber-42", "key-4")), newRefund(22, live, operation("sber-42", "key-6"))
	full := newRefund(24, live, operation("root", ""))
	asked.CreatedAt, other.CreatedAt = minute(15), minute(16)
	full.Full, full.Reason, full.Status = true, "", payment.RefundPending
	full.MadeAtProvider, full.ExternalID = true, "re_1"
	s.save(t, newOrder(1, "key-1"), newOrder(2, "key-5"), first, second, live, newPayment(11, 2, "key-2"), asked, other, full)
	live.Refunds = []*payment.Refund{full, other, asked}
	equal(t, "payments", s.payments(t, 1), []*payment.Payment{live, second, first})
	equal(t, "payments of no order", s.payments(t, 3), []*payment.Payment{})
}

func searchedPayments(t *testing.T, s Stores) {
	failed, retried, other := newPayment(11, 1, "key-1"), newPayment(12, 1, "key-2"), newPayment(13, 2, "key-3")
	for i, p := range []*payment.Payment{failed, retried, other} {
		p.CreatedAt = minute(i)
	}
	failed.Status, failed.Method, failed.Card.Token = payment.Failed, payment.ByCard, "pm_card_visa"
	first, second := newRefund(21, retried, operation("sber-42", "key-4")), newRefund(22, retried, operation("sber-42", "key-5"))
	first.CreatedAt, second.CreatedAt = minute(15), minute(16)
	s.save(t, newOrder(1, "key-1"), newOrder(2, "key-5"), failed, retried, other, first, second)
	retried.Refunds = []*payment.Refund{second, first}
	for name, c := range map[string]struct {
		search payment.Search
		page   core.Page
		want   []*payment.Payment
	}{
		"all":          {payment.Search{}, core.Page{Limit: 5}, []*payment.Payment{other, retried, failed}},
		"a page":       {payment.Search{}, core.Page{Limit: 1}, []*payment.Payment{other, retried}},
		"the next":     {payment.Search{}, core.Page{Limit: 5, After: core.Position{CreatedAt: minute(1), ID: 12}}, []*payment.Payment{failed}},
		"by status":    {payment.Search{Status: payment.Captured}, core.Page{Limit: 5}, []*payment.Payment{other, retried}},
		"by method":    {payment.Search{Method: payment.ByCard}, core.Page{Limit: 5}, []*payment.Payment{failed}},
		"by both":      {payment.Search{Status: payment.Captured, Method: payment.ByCard}, core.Page{Limit: 5}, []*payment.Payment{}},
		"since a time": {payment.Search{Created: core.Period{From: minute(1)}}, core.Page{Limit: 5}, []*payment.Payment{other, retried}},
	} {
		equal(t, "payments "+name, query(t, s, func(ctx context.Context, tx payment.Tx) ([]*payment.Payment, error) {
			return tx.Payments.Search(ctx, c.search, c.page)
		}), c.want)
	}
}

func ownedPayment(t *testing.T, s Stores) {
	p, other := newPayment(11, 1, "key-2"), newPayment(12, 2, "key-3")
	older, newer := newRefund(22, p, operation("sber-42", "key-4")), newRefund(21, p, operation("sber-42", "key-5"))
	older.CreatedAt, newer.CreatedAt = minute(1), minute(2)
	o := newOrder(1, "key-1")
	s.save(t, o, newOrder(2, "key-6"), p, other, older, newer, newRefund(23, other, operation("sber-42", "key-7")))
	p.Refunds = []*payment.Refund{newer, older}
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		foundPayment, ofPayment, err := tx.Payments.Get(ctx, 11)
		if err != nil {
			return err
		}
		foundRefund, ofRefund, err := tx.Refunds.Get(ctx, 22)
		if err != nil {
			return err
		}
		equal(t, "payment", foundPayment, p)
		equal(t, "refund", foundRefund, older)
		equal(t, "owners", []core.Owners{ofPayment, ofRefund}, []core.Owners{o.Owners(), o.Owners()})
		_, _, noPayment := tx.Payments.Get(ctx, 21)
		_, _, noRefund := tx.Refunds.Get(ctx, 11)
		if !errors.Is(noPayment, core.ErrNotFound) || !errors.Is(noRefund, core.ErrNotFound) {
			t.Errorf("a payment and a refund that do not exist: %v, %v", noPayment, noRefund)
		}
		return nil
	})
}

func onePayment(t *testing.T, s Stores) {
	failed, live := newPayment(11, 1, "key-2"), newPayment(12, 1, "key-3")
	failed.Status, live.Status = payment.Failed, payment.Processing
	s.save(t, newOrder(1, "key-1"), failed)
	s.refuses(t, "a second payment of one operation", newPayment(12, 1, "key-2"))
	s.save(t, live)
	s.refuses(t, "a second live payment", newPayment(13, 1, "key-4"))
	equal(t, "payments", s.payments(t, 1), []*payment.Payment{live, failed})
}

func updatedPayment(t *testing.T, s Stores) {
	p := newPayment(11, 1, "key-2")
	p.Method, p.Status, p.Card.Token = payment.ByCard, payment.Processing, "pm_card_visa"
	r := newRefund(21, p, operation("root", ""))
	s.save(t, newOrder(1, "key-1"), p, r)
	p.Status, p.Card.ExternalID, p.Card.Failure, p.Card.AskedAt = payment.Failed, "pi_1", "lost_card", minute(1)
	r.Status, r.ExternalID, r.Failure, r.AskedAt = payment.RefundFailed, "re_1", "lost_or_stolen_card", minute(2)
	s.save(t, p, r)
	p.Refunds = []*payment.Refund{r}
	equal(t, "payments", s.payments(t, 1), []*payment.Payment{p})
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		ofCharge, _ := tx.Payments.OfCharge(ctx, "pi_1")
		ofRefund, _ := tx.Refunds.OfExternal(ctx, "re_1")
		absent, _ := tx.Payments.OfCharge(ctx, "pi_2")
		none, err := tx.Refunds.OfExternal(ctx, "re_2")
		equal(t, "rows of external ids", []int64{ofCharge, ofRefund, absent, none}, []int64{11, 21, 0, 0})
		return err
	})
}

func paymentByUUID(t *testing.T, s Stores) {
	first, second := newPayment(11, 1, "key-2"), newPayment(12, 2, "key-3")
	s.save(t, newOrder(1, "key-1"), newOrder(2, "key-4"), first, second, newRefund(21, second, operation("root", "")))
	names := map[string]bool{}
	for orderID := range int64(2) {
		p := s.payments(t, orderID+1)[0]
		names[p.UUID] = true
		for _, r := range p.Refunds {
			names[r.UUID] = true
		}
	}
	equal(t, "different names", len(names), 3)
	p := s.payments(t, 2)[0]
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		byPayment, err := tx.OrderPayments.LockByPaymentUUID(ctx, p.UUID)
		if err != nil {
			return err
		}
		byRefund, err := tx.OrderPayments.LockByRefundUUID(ctx, p.Refunds[0].UUID)
		if err != nil {
			return err
		}
		equal(t, "orders", []int64{byPayment.Order.ID, byRefund.Order.ID}, []int64{2, 2})
		_, err = tx.OrderPayments.LockByPaymentUUID(ctx, p.Refunds[0].UUID)
		equal(t, "a payment with the UUID of a refund", errors.Is(err, core.ErrNotFound), true)
		return nil
	})
}

func oneRefundOfAnOperation(t *testing.T, s Stores) {
	p := newPayment(11, 1, "key-2")
	first := newRefund(21, p, operation("sber-42", "key-3"))
	s.save(t, newOrder(1, "key-1"), p, first)
	s.refuses(t, "a second refund of one operation", newRefund(22, p, operation("sber-42", "key-3")))
	others := []*payment.Refund{
		newRefund(23, p, operation("sber-42", "key-4")),
		newRefund(24, p, operation("root", "key-3")),
		newRefund(25, p, operation("root", "")), newRefund(26, p, operation("root", "")), // of no operation
	}
	s.save(t, others[0], others[1], others[2], others[3])
	p.Refunds = []*payment.Refund{others[3], others[2], others[1], others[0], first}
	equal(t, "payments", s.payments(t, 1), []*payment.Payment{p})
}

func ownRefund(t *testing.T, s Stores) {
	p := newPayment(11, 1, "key-2")
	refund := newRefund(21, p, operation("sber-42", "key-3"))
	s.save(t, newOrder(1, "key-1"), p)
	stored := *refund
	stored.New = false
	p.Refunds = []*payment.Refund{&stored}
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		if _, err := tx.OrderPayments.Lock(ctx, 1, core.GrantEverybody); err != nil {
			return err
		}
		if err := tx.Refunds.Save(ctx, refund); err != nil {
			return err
		}
		op, err := tx.OrderPayments.Lock(ctx, 1, core.GrantEverybody)
		if err != nil {
			return err
		}
		equal(t, "payments", op.Payments, []*payment.Payment{p})
		return nil
	})
}

func oneRefundOfAReference(t *testing.T, s Stores) {
	o, p := newOrder(1, "key-1"), newPayment(11, 1, "key-2")
	referring := func(id int64, actor, reference string) *payment.Refund {
		r := newRefund(id, p, operation(actor, "key-"+strconv.FormatInt(id, 10)))
		r.Reference = reference
		return r
	}
	s.save(t, o, p, referring(21, "root", "ticket-1"), referring(22, "sber-42", "ticket-1"),
		referring(23, "root", ""), referring(24, "root", ""), referring(25, "root", "ticket-2"))
	s.refuses(t, "a second refund with one reference", referring(26, "root", "ticket-1"))
}

func disputedPayment(t *testing.T, s Stores) {
	p, other := newPayment(11, 1, "key-1"), newPayment(12, 2, "key-2")
	s.save(t, newOrder(1, "key-3"), newOrder(2, "key-4"), p, other)
	older := &cards.Dispute{ID: "dp_1", Amount: rub("10.05"), Reason: "general", Status: cards.InquiryNeedsResponse, CreatedAt: minute(1)}
	newer := &cards.Dispute{ID: "dp_2", Amount: rub("3998.50"), Reason: "fraudulent", Status: cards.DisputeNeedsResponse, DueBy: minute(9), CreatedAt: minute(2)}
	save := func(d *cards.Dispute) {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error { return tx.Disputes.Save(ctx, p, d) })
	}
	disputed := payment.Search{Disputed: true, Status: payment.Captured}
	check := func(orderDisputed bool, found ...*payment.Payment) {
		t.Helper()
		equal(t, "payments", s.payments(t, 1), []*payment.Payment{p})
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			searched, err := tx.Payments.Search(ctx, disputed, core.Page{Limit: 5})
			if err != nil {
				return err
			}
			equal(t, "disputed payments", searched, found)
			op, err := tx.OrderPayments.LockByPayment(ctx, 11)
			if err != nil {
				return err
			}
			equal(t, "locked payments", op.Payments, []*payment.Payment{p})
			o, err := tx.Orders.Lock(ctx, 1, core.GrantEverybody)
			equal(t, "whether the order is disputed", o.Disputed, orderDisputed)
			return err
		})
	}
	check(false)
	save(older)
	save(newer)
	p.Disputes = []*cards.Dispute{newer, older}
	check(true, p)
	older.Status, newer.Status, newer.Amount, newer.DueBy = cards.InquiryClosed, cards.DisputeLost, rub("5.00"), minute(10)
	save(older)
	save(newer)
	check(true) // the money is gone
	newer.Status = cards.DisputeWon
	save(newer)
	check(false)
}

func entryOfTransaction(t *testing.T, s Stores) {
	e := &payment.LedgerEntry{
		ID: 31, Kind: payment.EntryDispute, Debit: payment.DisputesAccount, Credit: payment.ProviderAccount,
		Amount: rub("10.05"), PaymentID: 11, Reference: "txn_1", CreatedAt: minute(1),
	}
	fee := *e
	fee.ID, fee.Kind, fee.Debit = 32, payment.EntryDisputeFee, payment.DisputeFeesAccount
	appends := func(e payment.LedgerEntry) error {
		return s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error { return tx.Ledger.Append(ctx, &e) })
	}
	s.save(t, newOrder(1, "key-1"), newPayment(11, 1, "key-2"))
	if err := appends(*e); err != nil {
		t.Fatal(err)
	}
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		recorded, err := tx.Ledger.HasReference(ctx, payment.EntryDispute, "txn_1")
		other, _ := tx.Ledger.HasReference(ctx, payment.EntryDisputeFee, "txn_1")
		equal(t, "recorded entries", []bool{recorded, other}, []bool{true, false})
		return err
	})
	again := *e
	again.ID = 33
	if first, second := appends(fee), appends(again); first != nil || second == nil {
		t.Errorf("the entry about the fee: %v; a second one about the amount: %v", first, second)
	}
}
