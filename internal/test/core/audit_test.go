package coretest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// auditMetadata is what the audit log says about each use case. Ann and shop are whose the
// resource is. An id is that of something that the use case made.
var auditMetadata = map[string]core.Metadata{
	"PutProduct": {
		"seller_id": "shop", "changed": "name price on_hand",
		"price": "41.00 RUB", "previous_price": "40.00 RUB", "on_hand": "9", "previous_on_hand": "10",
	},
	"AdjustStock":                      {"seller_id": "shop", "stock_adjustment_id": "an id", "change": "5", "on_hand": "15"},
	"CreateOrder":                      {"customer_id": "ann", "seller_id": "shop", "amount": "40.00", "currency": "RUB"},
	"GetOrderById":                     {"customer_id": "ann", "seller_id": "shop"},
	"ReserveInventory":                 {"customer_id": "ann", "seller_id": "shop"},
	"UpdateOrderStatus":                {"customer_id": "ann", "seller_id": "shop", "previous_status": "paid", "status": "fulfilling"},
	"ConfirmPayment":                   paymentMetadata("balance"),
	"ConfirmPayment by card":           paymentMetadata("card"),
	"RefundPayment in part":            refundMetadata("30.00"),
	"RefundPayment in full":            refundMetadata("80.00"),
	"CancelOrder, waiting for payment": {"customer_id": "ann", "seller_id": "shop", "previous_status": "pending_payment"},
	"CancelOrder, paid":                refundMetadata("80.00").With("previous_status", "paid"),
	"ListPayments":                     {"customer_id": "ann", "seller_id": "shop"},
	"GetPayment":                       {"customer_id": "ann", "seller_id": "shop", "payment_id": "an id"},
	"GetRefund":                        {"customer_id": "ann", "seller_id": "shop", "payment_id": "an id", "refund_id": "an id"},
	"CreditBalance":                    entryMetadata("101.00"),
	"ChargeBalance":                    entryMetadata("99.00"),
	"GetBalance":                       {"customer_id": "ann"},
	"ListBalanceTransactions":          {"customer_id": "ann"},
	"UpdateCustomerProfile":            {"customer_id": "ann", "changed": "full_name"},
	"DeleteCustomerProfile":            {"customer_id": "ann"},
	"GetCustomerProfile":               {"customer_id": "ann"},
}

func paymentMetadata(method string) core.Metadata {
	return core.Metadata{
		"customer_id": "ann", "seller_id": "shop", "payment_id": "an id", "method": method, "amount": "80.00", "currency": "RUB",
	}
}

func refundMetadata(amount string) core.Metadata {
	return core.Metadata{
		"customer_id": "ann", "seller_id": "shop", "payment_id": "an id", "refund_id": "an id", "amount": amount, "currency": "RUB",
	}
}

func entryMetadata(after string) core.Metadata {
	return core.Metadata{
		"customer_id": "ann", "amount": "1.00", "currency": "RUB", "balance_transaction_id": "an id", "balance_after": after,
	}
}

func TestAudit_SaysWhoseTheResourceIsAndWhatWasDone(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			o := u.prepare(t, f)
			before := len(f.Store.AuditEntries())
			actor := root
			if !u.admits(root) {
				actor = withAdmin(u.allowed[0])
			}
			mustRun(t, f, u.do, actor, o)
			entries := f.Store.AuditEntries()[before:]
			if len(entries) != 1 {
				t.Fatalf("the audit log has %+v, want one more entry", entries)
			}
			if diff := cmp.Diff(auditMetadata[u.name], withoutIDs(entries[0].Metadata)); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

// withoutIDs replaces the ids that the store has allocated.
func withoutIDs(m core.Metadata) core.Metadata {
	for name, value := range m {
		id, err := strconv.ParseInt(value, 10, 64)
		if err == nil && id > 0 && strings.HasSuffix(name, "_id") {
			m[name] = "an id"
		}
	}
	return m
}

// A reference is what somebody wrote, so it is not named.
func TestAudit_NamesTheFiltersOfAList(t *testing.T) {
	t.Parallel()
	f := newFixture()
	for _, filter := range []order.Filter{
		{}, {CustomerID: "ann"}, {Status: order.Paid}, {CustomerID: "ann", Status: order.Shipped},
		{Reference: "Анна", Created: core.Period{From: f.now(), To: f.now().Add(time.Minute)}},
	} {
		if _, _, err := f.Orders.ListOrders(t.Context(), root, filter, core.Page{Limit: 1}); err != nil {
			t.Fatal(err)
		}
	}
	filter := payment.EntryFilter{CustomerID: "ann", Reference: "Анна", Created: core.Period{From: f.now()}}
	if _, _, err := f.Payments.ListBalanceTransactions(t.Context(), root, filter, core.Page{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	var got []core.Metadata
	for _, e := range f.Store.AuditEntries() {
		got = append(got, e.Metadata)
	}
	want := []core.Metadata{
		{}, {"customer_id": "ann"}, {"status": "paid"}, {"customer_id": "ann", "status": "shipped"},
		{"created_from": "2026-03-01T12:00:00Z", "created_to": "2026-03-01T12:01:00Z"},
		{"customer_id": "ann", "created_from": "2026-03-01T12:00:00Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// What people wrote can be about people, so the audit log names only that it changed.
func TestAudit_CarriesNoText(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paid(t, f)
	for _, do := range []command{
		putProduct("Анна"), updateProfile, orderFor(1)("ann", "Анна"), refund("1.00", "Анна"), cancel("Анна"),
	} {
		mustRun(t, f, do, withAdmin(ann), o)
	}
	for _, e := range f.Store.AuditEntries() {
		for name, value := range e.Metadata {
			if strings.Contains(value, "Анна") {
				t.Errorf("%s of %s is %s", name, e.Action, value)
			}
		}
	}
}

// The entry about a read of the log comes after the page that was read.
func TestListAuditLog_IsAudited(t *testing.T) {
	t.Parallel()
	f := newFixture()
	for reads := range 2 {
		page, _, err := f.Audit.ListAuditLog(t.Context(), root, core.Page{Limit: 10})
		if err != nil || len(page) != reads {
			t.Errorf("read %d: a page of %+v, %v; want the entries of the reads before", reads, page, err)
		}
	}
	want := core.AuditEntry{ID: 2, Actor: "root", At: f.now(), Action: "ListAuditLog", Resource: "audit-log"}
	if entries := f.Store.AuditEntries(); len(entries) != 2 || !cmp.Equal(entries[1], want) {
		t.Errorf("audit log: %+v, want a second %+v", entries, want)
	}
}
