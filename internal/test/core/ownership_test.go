package coretest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func TestUseCases_AdmitOnlyWhoIsAllowed(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for who, actor := range everyone {
			t.Run(u.name+" by "+who, func(t *testing.T) {
				t.Parallel()
				u.try(t, newFixture(), actor)
			})
		}
	}
}

// A store applies the grant where it locks, so that strangers wait for nothing. A use case
// does not depend on it: it refuses them with a store that locks for everybody.
func TestUseCases_CheckTheOwnerThemselves(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for who, actor := range everyone {
			if u.admits(actor) {
				continue
			}
			t.Run(u.name+" by "+who, func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				f.Store.Careless = true
				u.try(t, f, actor)
			})
		}
	}
}

// try runs the use case for an actor. Those who are allowed cause its effects, and the
// others are refused and cause none.
func (u useCase) try(t *testing.T, f *fixture, actor core.Actor) {
	t.Helper()
	o := u.prepare(t, f)
	var err error
	caused := f.effects(func() { err = run(u.do, actor)(t, f, o) })
	want, wanted := effects{}, core.CodeForbiddenResource
	if u.admits(actor) {
		want, wanted = u.effects(actor, o), ""
	}
	wantCode(t, u.name, err, wanted)
	if diff := cmp.Diff(want, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// effects returns what the use case causes: its events, and an audit entry when an
// administrator runs it.
func (u useCase) effects(actor core.Actor, o *order.Order) effects {
	caused := effects{Events: u.events}
	if actor.Has(core.Admin) {
		action, _, _ := strings.Cut(strings.ReplaceAll(u.name, ",", " "), " ")
		caused.Audited = []string{actor.Subject + " " + action + " " + u.resource(o)}
	}
	return caused
}

// An administrator who owns the resource needs no admin override to read it, so the read is
// not audited. Every other use by an administrator is, whatever other role admits it.
func TestAudit_SkipsOnlyReadsOfAnAdministratorsOwnResources(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		reads := strings.HasPrefix(u.name, "Get") || strings.HasPrefix(u.name, "List")
		for _, owner := range u.allowed {
			if owner.Has(core.Admin) {
				continue
			}
			t.Run(u.name+" by "+owner.Subject, func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				o := u.prepare(t, f)
				caused := f.effects(func() { mustRun(t, f, u.do, withAdmin(owner), o) })
				want := 1
				if reads && !owner.Has(core.System) {
					want = 0
				}
				if len(caused.Audited) != want {
					t.Errorf("audit log: %q, want %d entries", caused.Audited, want)
				}
			})
		}
	}
}

// withAdmin returns the actor as an administrator, too.
func withAdmin(a core.Actor) core.Actor {
	return core.Actor{Subject: a.Subject, Roles: append(slices.Clone(a.Roles), core.Admin)}
}

func TestCreateOrder_AdmitsCustomersAndTheSellerOfTheProducts(t *testing.T) {
	t.Parallel()
	both := core.Actor{Subject: "other-shop", Roles: []core.Role{core.Customer, core.Seller}}
	for name, c := range map[string]struct {
		actor      core.Actor
		customerID string
		want       core.Code
	}{
		"a seller for a customer":                       {shop, "ann", ""},
		"a seller for nobody":                           {shop, "", core.CodeValidationFailed},
		"a seller of other products":                    {otherShop, "ann", core.CodeForbiddenResource},
		"a customer for nobody else":                    {ann, "", ""},
		"a customer for another":                        {ann, "bob", core.CodeForbiddenResource},
		"who buys and sells, for themselves":            {both, "", ""},
		"who buys and sells, another's products for us": {both, "ann", core.CodeForbiddenResource},
		"an administrator":                              {root, "ann", core.CodeForbiddenResource},
	} {
		f := newFixture()
		f.product(t, shop, "tea", "40.00", 10)
		cmd := order.CreateOrder{CustomerID: c.customerID, Items: items("tea"), Key: f.key()}
		_, _, err := f.Orders.CreateOrder(t.Context(), c.actor, cmd)
		wantCode(t, name, err, c.want)
	}
}

func TestListOrders_ShowsOnlyGrantedOrders(t *testing.T) {
	t.Parallel()
	f := newFixture()
	mine := placed(t, f)
	f.product(t, otherShop, "cup", "1.00", 10)
	bobs := f.create(t, bob, order.CreateOrder{Items: items("cup")})
	for name, c := range map[string]struct {
		actor   core.Actor
		filter  order.Filter
		want    []int64
		audited []string
	}{
		"a customer":               {ann, order.Filter{}, []int64{mine.ID}, nil},
		"a customer asks for more": {ann, order.Filter{CustomerID: "bob", Grant: core.Grant{Customer: "bob"}}, nil, nil},
		"a seller":                 {shop, order.Filter{}, []int64{mine.ID}, nil},
		"a seller of a customer":   {otherShop, order.Filter{CustomerID: "bob"}, []int64{bobs.ID}, nil},
		"an administrator":         {root, order.Filter{}, []int64{bobs.ID, mine.ID}, []string{"root ListOrders orders"}},
		"the system":               {billing, order.Filter{}, nil, nil},
		"nobody":                   {core.Actor{Subject: "ann"}, order.Filter{}, nil, nil},
	} {
		var got []int64
		caused := f.effects(func() {
			found, _, err := f.Orders.ListOrders(t.Context(), c.actor, c.filter, core.Page{Limit: 10})
			wantCode(t, name, err, "")
			for _, o := range found {
				got = append(got, o.ID)
			}
		})
		if !slices.Equal(got, c.want) || !slices.Equal(caused.Audited, c.audited) || caused.Events != nil {
			t.Errorf("%s sees %v, leaves %+v; want %v and %v", name, got, caused, c.want, c.audited)
		}
	}
}

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
	"SearchPayments":                   {"status": "captured"},
	"GetPayment":                       {"customer_id": "ann", "seller_id": "shop", "payment_id": "an id"},
	"GetRefund":                        {"customer_id": "ann", "seller_id": "shop", "payment_id": "an id", "refund_id": "an id"},
	"CreditBalance":                    entryMetadata("101.00"),
	"ChargeBalance":                    entryMetadata("99.00"),
	"GetBalance":                       {"customer_id": "ann"},
	"ListBalanceTransactions":          {"customer_id": "ann"},
	"UpdateCustomerProfile":            {"customer_id": "ann", "changed": "full_name"},
	"DeleteCustomerProfile":            {"customer_id": "ann"},
	"GetCustomerProfile":               {"customer_id": "ann"},
	"GetWebhookEndpoint":               {"seller_id": "shop"},
	"UpdateWebhookEndpoint":            {"seller_id": "shop"},
	"DeleteWebhookEndpoint":            {"seller_id": "shop"},
	"RotateWebhookSecret":              {"seller_id": "shop"},
	"TestWebhookEndpoint":              {"seller_id": "shop"},
	"ListWebhookDeliveries":            {"seller_id": "shop"},
	"RetryWebhookDelivery":             {"seller_id": "shop"},
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
		putProduct("Анна"), updateProfile, orderFor(1)("ann", "Анна"), refund("1.00", "Анна"), cancel("Анна"), describeEndpoint("Анна"),
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
