// Package client_test tests the Go client against the running service, through a proxy that
// loses requests and responses.
package client_test

import (
	"bytes"
	"io"
	"iter"
	"net/http"
	"path"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/kit/client"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// checked checks each request and response against the contract, and notes the operation.
type checked struct {
	t        *testing.T
	contract *contracttest.Validator
	called   map[string]bool
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// operationOf returns the ID of the operation that a request is for.
func (c checked) operationOf(r *http.Request) string {
	for _, op := range c.contract.Operations() {
		pattern := parameter.ReplaceAllString(op.Path, "*")
		if matched, err := path.Match(pattern, r.URL.Path); err == nil && matched && op.Method == r.Method {
			return op.ID
		}
	}
	return "no operation: " + r.Method + " " + r.URL.Path
}

func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.contract.Check(c.t, r, sent, resp, body)
	c.called[c.operationOf(r)] = true
	return resp, err
}

// people are clients of the same service, one for each role.
type people struct{ customer, seller, bank, admin *client.Client }

// startPeople starts clients that send through a transport; nil stands for the default.
func startPeople(t *testing.T, s *e2e.Service, transport http.RoundTripper) people {
	t.Helper()
	start := func(subject, role string) *client.Client {
		return must[*client.Client](t)(client.New(client.Config{
			URL: s.URL, Token: client.StaticToken(s.Token(t, subject, role)), Transport: transport, Keys: &client.MemoryStore{},
		}))
	}
	return people{start(e2e.Alice, "customer"), start(e2e.Shop, "seller"), start(e2e.Bank, "system"), start(e2e.Root, "admin")}
}

// must returns a function that returns a result, and ends the test if there is an error.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// mustList returns the entries of a list. It must have one at least.
func mustList[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for entry, err := range list {
		all = append(all, must[T](t)(entry, err))
	}
	if len(all) == 0 {
		t.Errorf("an empty list of %T", all)
	}
	return all
}

func TestClient_CallsEveryOperationOfTheContract(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	transport := checked{t, s.Contract, map[string]bool{}}
	p := startPeople(t, s, transport)

	manageProducts(t, p)
	order := buy(t, p)
	cancel(t, p)
	fulfil(t, p, order)
	changeProfile(t, p)
	manageWebhooks(t, p)
	must[client.Order](t)(p.admin.GetOrder(t.Context(), order.ID)) // is an entry of the audit log
	mustList(t, p.admin.ListAuditLog(t.Context()))
	captured := client.PaymentFilter{Status: "captured", Method: "balance", PageSize: 1}
	if found := mustList(t, p.admin.SearchPayments(t.Context(), captured)); len(found) < 1 || found[0].Status != client.PaymentCaptured {
		t.Errorf("payments %+v", found)
	}

	want := map[string]bool{}
	for _, op := range s.Contract.Operations() {
		if len(op.Roles) > 0 { // the others are for operators, Stripe and readers of the contract
			want[op.ID] = true
		}
	}
	if diff := cmp.Diff(want, transport.called); diff != "" {
		t.Errorf("operations (-contract +called):\n%s", diff)
	}
}

var twoTeas = client.NewOrder{Items: []client.Item{{SKU: "tea", Quantity: 2}}}

func TestName_GetsTheFirstResultAfterTheRecordHasExpired(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	c := startPeople(t, s, nil).customer
	first := must[client.OrderResult](t)(c.CreateOrder(t.Context(), "cart-1", twoTeas))
	s.Exec(t, `UPDATE idempotency_record SET expires_at = now() - interval '1 second'`)

	second := must[client.OrderResult](t)(c.CreateOrder(t.Context(), "cart-1", twoTeas))

	if second.ID != first.ID || !second.Replayed {
		t.Errorf("orders %+v and %+v", first, second)
	}
}

func manageProducts(t *testing.T, p people) {
	t.Helper()
	tea := client.ProductUpdate{Name: "Tea, 100 g", Price: roubles("100.00"), OnHand: new(int64(5))}
	made := must[client.ProductVersion](t)(p.seller.PutProduct(t.Context(), "tea", tea, ""))
	tea.OnHand = new(int64(0))
	must[client.ProductVersion](t)(p.seller.PutProduct(t.Context(), "tea", tea, made.ETag))
	adjusted := must[client.StockResult](t)(p.seller.AdjustStock(t.Context(), "delivery-88", "tea", client.StockChange{Change: 10}))
	read := must[client.ProductVersion](t)(p.customer.GetProduct(t.Context(), "tea"))
	if adjusted.OnHand != 10 || read.OnHand != 10 || read.ETag == made.ETag {
		t.Errorf("%+v, then %+v", adjusted, read)
	}
	mustList(t, p.customer.ListProducts(t.Context()))
}

func manageWebhooks(t *testing.T, p people) {
	t.Helper()
	made := must[client.WebhookEndpointWithSecret](t)(p.seller.CreateWebhookEndpoint(t.Context(), client.NewWebhookEndpoint{
		URL: "https://shop.example/hooks", EventTypes: []string{"order.*"},
	}))
	paused := client.WebhookEndpointUpdate{Disabled: new(true)}
	must[client.WebhookEndpoint](t)(p.seller.UpdateWebhookEndpoint(t.Context(), made.ID, paused))
	if read := must[client.WebhookEndpoint](t)(p.seller.GetWebhookEndpoint(t.Context(), made.ID)); !read.Disabled {
		t.Errorf("%+v, want it disabled", read)
	}
	mustList(t, p.seller.ListWebhookEndpoints(t.Context()))
	rotated := must[client.WebhookEndpointWithSecret](t)(p.seller.RotateWebhookSecret(t.Context(), made.ID))
	if rotated.Secret == made.Secret {
		t.Error("the secret is the same")
	}
	queued := must[client.WebhookDelivery](t)(p.seller.TestWebhookEndpoint(t.Context(), made.ID))
	again := must[client.WebhookDelivery](t)(p.seller.RetryWebhookDelivery(t.Context(), made.ID, queued.ID))
	if found := mustList(t, p.seller.ListWebhookDeliveries(t.Context(), made.ID, "pending")); again.EventID != found[0].EventID {
		t.Errorf("deliveries %+v, want event %s", found, again.EventID)
	}
	if err := p.seller.DeleteWebhookEndpoint(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
}

// buy orders two packets of tea, pays them and returns one. It returns the order.
func buy(t *testing.T, p people) client.Order {
	t.Helper()
	ctx := t.Context()
	must[client.BalanceResult](t)(p.bank.CreditBalance(ctx, "salary", e2e.Alice, client.Credit{Amount: roubles("500.00"), Reference: "salary-11"}))
	must[client.BalanceResult](t)(p.bank.ChargeBalance(ctx, "fee", e2e.Alice, client.Charge{Amount: roubles("10.00"), Description: "fee"}))

	order := must[client.OrderResult](t)(p.customer.CreateOrder(ctx, "cart-1", client.NewOrder{Reference: "cart-1", Items: twoTeas.Items}))
	must[client.OrderResult](t)(p.customer.ReserveInventory(ctx, "cart-1/longer", order.ID))
	paid := must[client.PaymentResult](t)(p.customer.ConfirmPayment(ctx, "cart-1/pay", order.ID, client.ByBalance()))
	refund := must[client.RefundResult](t)(p.customer.RefundPayment(ctx, "cart-1/torn", order.ID, client.RefundOf{Amount: roubles("100.00")}))

	payment := must[client.Payment](t)(p.customer.AwaitPayment(ctx, paid.ID))
	decided := must[client.Refund](t)(p.customer.AwaitRefund(ctx, refund.ID))
	payments := mustList(t, p.customer.ListPayments(ctx, order.ID))
	if payment.Refunded != roubles("100.00") || decided.Status != client.RefundSucceeded || payments[0].Refunds[0].ID != refund.ID {
		t.Errorf("%+v, %+v, %+v", payment, decided, payments)
	}
	balance := must[client.Balance](t)(p.customer.GetBalance(ctx, e2e.Alice))
	if len(balance.Balances) != 1 || balance.Balances[0] != roubles("390.00") {
		t.Errorf("balance %+v", balance)
	}
	mustList(t, p.customer.ListBalanceTransactions(ctx, e2e.Alice, client.TransactionFilter{PageSize: 2}))
	salary := mustList(t, p.customer.ListBalanceTransactions(ctx, e2e.Alice, client.TransactionFilter{Reference: "salary-11"}))
	if len(salary) != 1 {
		t.Errorf("transactions %+v", salary)
	}
	record := must[client.IdempotencyRecord](t)(p.customer.GetIdempotencyKey(ctx, paid.Key))
	if record.Command != "confirmPayment" || record.Status != http.StatusOK {
		t.Errorf("record %+v", record)
	}
	return order.Order
}

func cancel(t *testing.T, p people) {
	t.Helper()
	order := must[client.OrderResult](t)(p.customer.CreateOrder(t.Context(), "cart-2", twoTeas))
	cancelled := must[client.OrderResult](t)(p.customer.CancelOrder(t.Context(), "cart-2/cancel", order.ID, client.Cancellation{Reason: "too much tea"}))
	if cancelled.Status != client.OrderCancelled {
		t.Errorf("%+v", cancelled)
	}
}

// fulfil ships an order, and finds it in the lists.
func fulfil(t *testing.T, p people, order client.Order) {
	t.Helper()
	for _, status := range []string{client.OrderFulfilling, client.OrderShipped} {
		if got := must[client.Order](t)(p.seller.UpdateOrderStatus(t.Context(), order.ID, status)); got.Status != status {
			t.Errorf("%+v", got)
		}
	}
	read := must[client.Order](t)(p.customer.GetOrder(t.Context(), order.ID))
	all := mustList(t, p.customer.ListOrders(t.Context(), client.OrderFilter{PageSize: 1}))
	found := mustList(t, p.customer.ListOrders(t.Context(), client.OrderFilter{
		Status: client.OrderShipped, CustomerID: e2e.Alice, Reference: "cart-1",
		CreatedFrom: read.CreatedAt, CreatedTo: read.CreatedAt.Add(1), // the nanosecond after
	}))
	if len(all) != 2 || len(found) != 1 || found[0].ID != read.ID {
		t.Errorf("%+v of %+v", found, all)
	}
}

func changeProfile(t *testing.T, p people) {
	t.Helper()
	profile := client.ProfileUpdate{FullName: "Alice Liddell", Email: "alice@example.com", Phone: "+79161234567"}
	must[client.Profile](t)(p.customer.UpdateCustomerProfile(t.Context(), e2e.Alice, profile))
	read := must[client.Profile](t)(p.customer.GetCustomerProfile(t.Context(), e2e.Alice))
	if read.FullName != profile.FullName {
		t.Errorf("%+v", read)
	}
	if err := p.customer.DeleteCustomerProfile(t.Context(), e2e.Alice); err != nil {
		t.Error(err)
	}
}
