package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
)

// access is what a caller gets of a route.
type access string

const (
	opened     access = "2xx"                    // as its owner, or because the role is enough
	audited    access = "2xx and a row"          // by an administrator: one row in the audit log
	notTheRole access = "403 forbidden_role"     // the role is not let in
	notTheirs  access = "403 forbidden_resource" // the role is, but the resource is somebody else's
	hidden     access = "404 not_found"          // what is somebody else's is not even there
)

// column is what the owner of the resource and a stranger get, both in one role. Who
// owns something owns it in their role only: with another role they are strangers.
type column struct{ owner, stranger access }

var (
	everybody = column{opened, opened}
	theirOwn  = column{opened, notTheirs}
	onRecord  = column{audited, audited}
	keptOut   = column{notTheRole, notTheRole}
)

// row is what contract §1 says of one route.
type row struct {
	customer, seller, admin, system column
	// public routes take no token at all, and give this answer to the request of the test.
	public bool
	answer int
	// status is what the order of the request is.
	status order.Status
	body   string
}

func (r row) columns() map[string]column {
	return map[string]column{"customer": r.customer, "seller": r.seller, "admin": r.admin, "system": r.system}
}

// accessMatrix is contract §1 as a table, by operation.
var accessMatrix = map[string]row{
	"createOrder": {
		customer: theirOwn, seller: theirOwn, admin: keptOut, system: keptOut,
		body: `{"customer_id": "alice", "items": [{"sku": "tea", "quantity": 1}]}`,
	},
	"getOrderById":     {customer: theirOwn, seller: theirOwn, admin: onRecord, system: keptOut},
	"listOrders":       {customer: everybody, seller: everybody, admin: onRecord, system: keptOut},
	"reserveInventory": {customer: theirOwn, seller: theirOwn, admin: keptOut, system: everybody},
	"confirmPayment":   {customer: theirOwn, seller: keptOut, admin: keptOut, system: keptOut, body: `{"method": "balance"}`},
	"refundPayment":    {customer: theirOwn, seller: keptOut, admin: onRecord, system: keptOut, status: order.Paid, body: `{}`},
	"listPayments":     {customer: theirOwn, seller: theirOwn, admin: onRecord, system: keptOut, status: order.Paid},
	"cancelOrder":      {customer: theirOwn, seller: theirOwn, admin: onRecord, system: keptOut, body: `{}`},
	"updateOrderStatus": {
		customer: keptOut, seller: theirOwn, admin: onRecord, system: keptOut,
		status: order.Paid, body: `{"status": "fulfilling"}`,
	},
	"chargeBalance": {
		customer: keptOut, seller: keptOut, admin: onRecord, system: everybody,
		body: `{"amount": {"amount": "1.00", "currency": "RUB"}}`,
	},
	"creditBalance": {
		customer: keptOut, seller: keptOut, admin: onRecord, system: everybody,
		body: `{"amount": {"amount": "1.00", "currency": "RUB"}}`,
	},
	"getBalance":              {customer: theirOwn, seller: keptOut, admin: onRecord, system: everybody},
	"listBalanceTransactions": {customer: theirOwn, seller: keptOut, admin: onRecord, system: everybody},
	"getCustomerProfile":      {customer: theirOwn, seller: keptOut, admin: onRecord, system: keptOut},
	"updateCustomerProfile": {
		customer: theirOwn, seller: keptOut, admin: onRecord, system: keptOut,
		body: `{"full_name": "Alice", "email": "alice@example.com", "phone": "+79990000001"}`,
	},
	"putProduct": {
		customer: keptOut, seller: theirOwn, admin: onRecord, system: keptOut,
		body: `{"name": "coffee", "price": {"amount": "100.00", "currency": "RUB"}, "on_hand": 7}`,
	},
	"getProduct":        {customer: everybody, seller: everybody, admin: everybody, system: everybody},
	"listProducts":      {customer: everybody, seller: everybody, admin: everybody, system: everybody},
	"getIdempotencyKey": {customer: ownKeys, seller: ownKeys, admin: ownKeys, system: ownKeys},
	"listAuditLog":      {customer: keptOut, seller: keptOut, admin: everybody, system: keptOut},

	"getLiveness": {public: true, answer: 200}, "getReadiness": {public: true, answer: 200},
	"getOpenAPI": {public: true, answer: 200}, "getDocs": {public: true, answer: 200}, "getDocsAsset": {public: true, answer: 200},
	"takeStripeWebhook": {public: true, answer: 404}, // for cards are not accepted here
}

// ownKeys: whoever sent a key sees what became of it, whatever their role is today.
var ownKeys = column{opened, hidden}

// Every route × every role × owner and stranger, a token without a role, and no token.
func TestAccessMatrix(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 1000, "coffee": 7})
	s.credit(alice, "10000.00")
	want[profileBody](s, http.StatusOK, call{
		method: "PUT", path: "/customers/alice/profile", token: s.asCustomer(), body: accessMatrix["updateCustomerProfile"].body,
	})
	unseen := map[string]bool{}
	for id := range accessMatrix {
		unseen[id] = true
	}
	for _, op := range s.contract.Operations() {
		delete(unseen, op.ID)
		rules, known := accessMatrix[op.ID]
		if !known {
			t.Errorf("%s %s (%s) is not in the matrix: say who may call it", op.Method, op.Path, op.ID)
			continue
		}
		if diff := cmp.Diff(rules.roles(), slices.Sorted(slices.Values(op.Roles))); diff != "" {
			t.Errorf("%s: the roles of the matrix are not the contract's (-matrix +contract):\n%s", op.ID, diff)
		}
		t.Run(op.ID, func(t *testing.T) { // one after the other, for they count rows
			m := matrixRow{service: s.in(t), row: rules, method: op.Method, path: op.Path, guarded: op.Idempotent}
			m.check()
		})
	}
	for id := range unseen {
		t.Errorf("%s is in the matrix and not in the contract", id)
	}
}

// roles lists those that the row lets in.
func (r row) roles() []string {
	var in []string
	for role, c := range r.columns() {
		if c != keptOut && !r.public {
			in = append(in, role)
		}
	}
	slices.Sort(in)
	return in
}

// matrixRow is one row of the matrix under test.
type matrixRow struct {
	*service
	row
	method, path string
	guarded      bool
}

func (m matrixRow) check() {
	if m.public {
		if r := m.send(m.request("")); r.status != m.answer {
			m.Errorf("without a token: %d %s", r.status, r.body)
		}
		return
	}
	owners := map[string]string{"customer": alice, "seller": shop, "admin": alice, "system": alice}
	if strings.Contains(m.path, "{key}") {
		owners["seller"] = alice
	}
	strangers := map[string]string{"customer": mallory, "seller": rival, "admin": root, "system": bank}
	for role, column := range m.columns() {
		m.cell(role+", owner", column.owner, m.token(owners[role], role))
		m.cell(role+", stranger", column.stranger, m.token(strangers[role], role))
	}
	m.cell("no role", notTheRole, m.token(alice))
	m.cell("a role that is none of ours", notTheRole, m.token(alice, "superuser"))
	m.cell("no token", "401 unauthenticated", "")
	m.cell("a token of nobody's", "401 unauthenticated", m.token(alice, "customer", "admin")+"x")
}

// cell sends one request and checks its answer and what it left.
func (m matrixRow) cell(who string, wanted access, token string) {
	m.Helper()
	c := m.request(token)
	before := m.traces()
	r := m.send(c)
	after := m.traces()
	got := access(r.verdict())
	if r.status/100 == 2 {
		got = opened
		if after.audit > before.audit {
			got = audited
		}
	}
	if got != wanted {
		m.Errorf("%s: %s, want %s: %s", who, got, wanted, r.body)
	}
	rows := 0
	if wanted == audited {
		rows = 1
	}
	if after.audit-before.audit != rows {
		m.Errorf("%s: %d rows in the audit log, want %d", who, after.audit-before.audit, rows)
	}
	if r.status/100 != 2 && after.changes != before.changes {
		m.Errorf("%s was refused, and left %d changes", who, after.changes-before.changes)
	}
}

// request makes the request of the row, on an order of its own.
func (m matrixRow) request(token string) call {
	m.Helper()
	c := call{method: m.method, token: token, body: m.body}
	if m.guarded {
		c.key = m.newKey()
	}
	path := strings.NewReplacer("{customer_id}", alice, "{sku}", "coffee", "{asset}", "swagger-ui.css").Replace(m.path)
	switch {
	case strings.Contains(path, "{order_id}"):
		path = strings.Replace(path, "{order_id}", fmt.Sprint(m.orderOfTheRow().ID), 1)
	case strings.Contains(path, "{key}"):
		key := m.newKey()
		want[orderBody](m.service, http.StatusCreated, m.orderCall(alice, "tea", 1, key))
		path = strings.Replace(path, "{key}", key, 1)
	case strings.Contains(path, "{"):
		m.Fatalf("the matrix does not know what to put into %s", path)
	}
	c.path = path
	return c
}

func (m matrixRow) orderOfTheRow() orderBody {
	m.Helper()
	if m.status == order.Paid {
		return m.boughtOrder(alice, "tea", 1)
	}
	return m.order(alice, "tea", 1)
}

// traces is what a request can leave.
type traces struct{ audit, changes int }

func (m matrixRow) traces() traces {
	return traces{
		audit: m.count("SELECT count(*) FROM audit_log"),
		changes: m.count(`SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM idempotency_record) +
			(SELECT count(*) FROM product WHERE updated_at > created_at) + (SELECT count(*) FROM customer_profile)`),
	}
}

// An administrator who is also the customer reads what is theirs without a row; what
// they change is a row whatever they own.
func TestAdministratorsReadTheirOwnWithoutARow(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	o := s.boughtOrder(alice, "tea", 1)
	both := s.token(alice, "customer", "admin")
	put := call{method: "PUT", path: "/customers/alice/profile", token: both, body: accessMatrix["updateCustomerProfile"].body}
	for i, step := range []struct {
		call call
		rows int
	}{
		{get(both, fmt.Sprintf("/orders/%d", o.ID)), 0},
		{get(both, fmt.Sprintf("/orders/%d/payments", o.ID)), 0},
		{get(both, "/customers/alice/balance"), 0},
		{get(both, "/customers/alice/balance/transactions"), 0},
		{put, 1},
		{get(both, "/customers/alice/profile"), 0},
		{get(both, "/orders"), 1}, // everybody's orders
		{s.refundCall(both, o.ID, "1.00"), 1},
		{s.cancelCall(both, o.ID), 1},
	} {
		before := s.count("SELECT count(*) FROM audit_log")
		if r := s.send(step.call); r.status != http.StatusOK {
			t.Errorf("step %d: %d %s", i, r.status, r.body)
		}
		if rows := s.count("SELECT count(*) FROM audit_log") - before; rows != step.rows {
			t.Errorf("%s %s: %d rows in the audit log, want %d", step.call.method, step.call.path, rows, step.rows)
		}
	}
}
