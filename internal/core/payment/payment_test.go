package payment

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func rub(amount string) core.Money {
	m, err := core.ParseMoney(amount, "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

func codeOf(err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	return ""
}

func TestBalance_IsTheSumOfItsEntriesAndNeverNegative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &Balance{CustomerID: "ann", Amount: rub("0")}
		account := Account("customer/ann")
		sum := int64(0)
		amount := func(t *rapid.T) (int64, core.Money) {
			n := rapid.Int64Range(1, 1000).Draw(t, "amount")
			m, err := rub("1").Times(int(n))
			if err != nil {
				t.Fatal(err)
			}
			return n, m
		}
		t.Repeat(map[string]func(*rapid.T){
			"deposit": func(t *rapid.T) {
				n, m := amount(t)
				moved, err := b.deposit(EntryCredit, WorldAccount, m)
				want := &LedgerEntry{Kind: EntryCredit, Debit: WorldAccount, Credit: account, Amount: m, CustomerID: "ann", BalanceAfter: b.Amount}
				if diff := cmp.Diff(want, moved); err != nil || diff != "" {
					t.Fatalf("%v\n%s", err, diff)
				}
				sum += n
			},
			"withdraw": func(t *rapid.T) {
				n, m := amount(t)
				moved, err := b.withdraw(EntryCharge, WorldAccount, m)
				if n > sum {
					if codeOf(err) != core.CodeInsufficientFunds || moved != nil {
						t.Fatalf("%d of %d: %v", n, sum, err)
					}
					return
				}
				want := &LedgerEntry{Kind: EntryCharge, Debit: account, Credit: WorldAccount, Amount: m, CustomerID: "ann", BalanceAfter: b.Amount}
				if diff := cmp.Diff(want, moved); err != nil || diff != "" {
					t.Fatalf("%v\n%s", err, diff)
				}
				sum -= n
			},
			"": func(t *rapid.T) {
				if want, _ := rub("1").Times(int(sum)); !b.Amount.Equal(want) {
					t.Fatalf("the balance is %s; want %s", b.Amount, want)
				}
			},
		})
	})
}

func TestRefunded_ExcludesFailedRefunds(t *testing.T) {
	t.Parallel()
	p := &Payment{Amount: rub("100.00")}
	if !p.Refunded().IsZero() || !p.Refundable().Equal(p.Amount) {
		t.Errorf("%s refunded, %s refundable", p.Refunded(), p.Refundable())
	}
	for _, r := range []struct {
		status RefundStatus
		amount string
	}{{RefundSucceeded, "10.00"}, {RefundPending, "20.00"}, {RefundFailed, "40.00"}} {
		p.Refunds = append(p.Refunds, &Refund{Status: r.status, Amount: rub(r.amount)})
	}
	if p.Refunded().String() != "30.00 RUB" || p.Refundable().String() != "70.00 RUB" {
		t.Errorf("%s refunded, %s refundable", p.Refunded(), p.Refundable())
	}
}

// unpaid returns an order of 80.00 that waits for payment. The customer's balance is
// amount.
func unpaid(amount string) *OrderPayments {
	return &OrderPayments{
		Order: &order.Order{
			ID: 1, CustomerID: "ann", SellerID: "shop", Status: order.PendingPayment, Total: rub("80.00"), Version: 1,
			ReservedUntil: now.Add(time.Minute), Lines: []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: rub("40.00")}},
		},
		Stock:   order.Stock{"tea": {SKU: "tea", OnHand: 10, Reserved: 2}},
		Balance: &Balance{CustomerID: "ann", Amount: rub(amount)},
	}
}

// However an order is refunded, the refunds never exceed the captured amount, and the
// customer's balance grows by their sum.
func TestRefund_StaysWithinThePayment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		op := unpaid("0.00")
		p := &Payment{ID: 7, OrderID: 1, Amount: rub("80.00"), Status: Captured}
		for range rapid.IntRange(1, 10).Draw(t, "refunds") {
			amount, err := rub("0.01").Times(rapid.IntRange(0, 9000).Draw(t, "cents"))
			if err != nil {
				t.Fatal(err)
			}
			refundable := p.Refundable()
			r, m, err := op.refund(p, amount, core.Operation{Actor: "ann"}, now)
			if amount.IsZero() || refundable.Less(amount) {
				if codeOf(err) != core.CodeRefundExceedsPayment || r != nil || m != nil {
					t.Fatalf("%s of %s refundable: %v", amount, refundable, err)
				}
				continue
			}
			if err != nil || r.PaymentID != 7 || r.OrderID != 1 || m.PaymentID != 7 || m.Debit != "seller/shop" || m.Credit != "customer/ann" || !m.Amount.Equal(amount) {
				t.Fatalf("%+v, %+v, %v", r, m, err)
			}
		}
		if !op.Balance.Amount.Equal(p.Refunded()) || p.Amount.Less(p.Refunded()) {
			t.Fatalf("%s refunded of %s, %s came back", p.Refunded(), p.Amount, op.Balance.Amount)
		}
	})
}

// A reason that the API cannot carry does not keep the refund pending.
func TestRefund_KeepsWhyItWasRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was    RefundStatus
		kept   string // before
		result cards.ChargeResult
		want   string
	}{
		"refused":                     {RefundPending, "", cards.ChargeResult{Outcome: cards.ChargeRefused, Reason: "lost_or_stolen_card"}, "lost_or_stolen_card"},
		"succeeded, then returned":    {RefundSucceeded, "", cards.ChargeResult{Outcome: cards.ChargeRefused, Reason: "declined"}, "declined"},
		"refused for a text":          {RefundPending, "", cards.ChargeResult{Outcome: cards.ChargeRefused, Reason: "The bank said no."}, "unknown_reason"},
		"refused again, by an answer": {RefundFailed, "declined", cards.ChargeResult{Outcome: cards.ChargeRefused, Reason: "charge_already_refunded"}, "declined"},
		"succeeded":                   {RefundPending, "", cards.ChargeResult{Outcome: cards.ChargeSucceeded}, ""},
		"not decided":                 {RefundPending, "", cards.ChargeResult{Outcome: cards.ChargePending, Reason: "processing"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Refund{ID: 9, PaymentID: 7, Amount: rub("30.00"), Status: test.was, Failure: test.kept}
			r.decide(test.result, "seller/shop")
			if r.Failure != test.want {
				t.Errorf("the refund is %s because of %q, want %q", r.Status, r.Failure, test.want)
			}
		})
	}
}

func TestRefund_IsDecidedOnceAndARefusalIsFinal(t *testing.T) {
	t.Parallel()
	const seller = Account("seller/shop")
	for name, test := range map[string]struct {
		was           RefundStatus
		outcome       cards.ChargeOutcome
		want          RefundStatus
		debit, credit Account // none where no money moves
	}{
		"succeeded":                {was: RefundPending, outcome: cards.ChargeSucceeded, want: RefundSucceeded, debit: seller, credit: ProviderAccount},
		"refused":                  {was: RefundPending, outcome: cards.ChargeRefused, want: RefundFailed},
		"not decided":              {was: RefundPending, outcome: cards.ChargePending, want: RefundPending},
		"succeeded, repeated":      {was: RefundSucceeded, outcome: cards.ChargeSucceeded, want: RefundSucceeded},
		"succeeded, late pending":  {was: RefundSucceeded, outcome: cards.ChargePending, want: RefundSucceeded},
		"succeeded, then returned": {was: RefundSucceeded, outcome: cards.ChargeRefused, want: RefundFailed, debit: ProviderAccount, credit: seller},
		"refused, repeated":        {was: RefundFailed, outcome: cards.ChargeRefused, want: RefundFailed},
		"returned, late success":   {was: RefundFailed, outcome: cards.ChargeSucceeded, want: RefundFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Refund{ID: 9, PaymentID: 7, Amount: rub("30.00"), Status: test.was}
			m, changed := r.decide(cards.ChargeResult{Outcome: test.outcome, ExternalID: "re_1"}, seller)
			if r.Status != test.want || changed != (test.was != test.want) {
				t.Errorf("it is %s, changed %t; want %s", r.Status, changed, test.want)
			}
			var want *LedgerEntry
			if test.debit != "" {
				want = &LedgerEntry{Kind: EntryRefund, Debit: test.debit, Credit: test.credit, Amount: r.Amount, PaymentID: 7, RefundID: 9}
			}
			if diff := cmp.Diff(want, m, cmp.Comparer(core.Money.Equal)); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

// A transaction that began first may change the balance last.
func TestBalance_PlacesEntriesInTheOrderOfItsChanges(t *testing.T) {
	t.Parallel()
	b := &Balance{}
	for i, began := range []time.Time{now, now.Add(-time.Hour), now, now.Add(time.Hour)} {
		last, e := b.ChangedAt, &LedgerEntry{}
		b.place(e, began)
		if e.Position != int64(i+1) || b.Position != e.Position {
			t.Errorf("entry %d has position %d, the balance %d", i+1, e.Position, b.Position)
		}
		if !e.CreatedAt.After(last) || e.CreatedAt.Before(began) || !b.ChangedAt.Equal(e.CreatedAt) {
			t.Errorf("entry %d is of %v, began at %v; the one before is of %v", i+1, e.CreatedAt, began, last)
		}
	}
}

// So does one that makes a payment or a refund.
func TestOrderPayments_GivePaymentsAndRefundsTimesInTheirOrder(t *testing.T) {
	t.Parallel()
	op, by := unpaid("80.00"), core.Operation{Actor: "ann", Key: "key-1"}
	last := now.Add(time.Minute)
	op.Payments = []*Payment{{Status: Failed, CreatedAt: last}}
	p, _, err := op.payFromBalance(by, now)
	if err != nil || !p.CreatedAt.After(last) {
		t.Errorf("the payment is of %v, err = %v; want after %v", p.CreatedAt, err, last)
	}
	p.Refunds = []*Refund{{CreatedAt: last, Status: RefundFailed, Amount: rub("1.00")}}
	r, _, err := op.refund(p, rub("1.00"), by, now)
	if err != nil || !r.CreatedAt.After(last) {
		t.Errorf("the refund is of %v, err = %v; want after %v", r.CreatedAt, err, last)
	}
}
