package commands_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// The payment begins before the credit and locks the balance after it.
func TestListBalanceTransactions_BeginsWithTheLastChangeOfABalance(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.PutProduct(t, "tea", 1)
	s.Credit(t, e2e.Alice, "100000.00")
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	lock := env.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", o.ID)
	paid := make(chan e2e.Reply, 1)
	go func() { paid <- s.Send(t, s.ConfirmCall(t, e2e.Alice, o.ID)) }()
	lock.AwaitWaiter(t)
	s.Credit(t, e2e.Alice, "5.00")
	lock.Release()
	if r := <-paid; r.Status != http.StatusOK {
		t.Fatalf("the payment: %d %s", r.Status, r.Body)
	}

	list := e2e.Get(s.CustomerToken(t), fmt.Sprintf("/customers/%s/balance/transactions", e2e.Alice))
	entries := e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, list).Data
	if kind := entries[0].Kind; kind != "payment" {
		t.Errorf("the list begins with a %s, want the payment", kind)
	}
	s.WantBalance(t, e2e.Alice, entries[0].BalanceAfter.Amount)
	e2e.CheckInvariants(t, s.DB, nil)
}

// A client that lost the answer finds its order by its own id of it, and by when it asked.
func TestListOrders_FindsByReferenceAndTime(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	var created []time.Time
	for i, reference := range []string{"A-1", "A-2", "A-3"} {
		body := fmt.Sprintf(`{"reference": %q, "items": [{"sku": "tea", "quantity": 1}]}`, reference)
		o := e2e.Want[e2e.Order](t, s, http.StatusCreated, s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithBody(body))
		at := time.Date(2026, time.November, 4, 9, 30, i, 5000, time.UTC)
		s.Exec(t, "UPDATE orders SET created_at = $2 WHERE id = $1", o.ID, at)
		created = append(created, at)
	}
	for query, want := range map[string][]string{
		"reference=A-2":                                                      {"A-2"},
		"reference=a-2":                                                      nil,
		"reference=A-2&status=paid":                                          nil,
		"created_from=" + timeText(created[1]):                               {"A-3", "A-2"},
		"created_to=" + timeText(created[1]):                                 {"A-1"},
		"limit=1&created_to=" + timeText(created[2]):                         {"A-2"},
		"reference=A-2&created_from=" + timeText(created[2]):                 nil,
		"reference=A-2&created_to=" + timeText(created[2]):                   {"A-2"},
		betweenTimes(created[1], created[2]):                                 {"A-2"},
		betweenTimes(created[1], created[1]):                                 nil,
		betweenTimes(created[0].Add(time.Hour), created[0].Add(2*time.Hour)): nil,
	} {
		var got []string
		for _, o := range e2e.Want[e2e.Page[findable]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/orders?"+query)).Data {
			got = append(got, o.Reference)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}

// The pages of a period are those of the list that belong to it.
func TestListBalanceTransactions_PaginatesAPeriod(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for i := range 6 {
		call := s.CreditCall(t, e2e.Alice, "1.00").WithBody(fmt.Sprintf(`{"reference": "C-%d", "amount": {"amount": "1.00", "currency": "RUB"}}`, i))
		e2e.Want[e2e.Transaction](t, s, http.StatusCreated, call)
	}
	all := e2e.Want[e2e.Page[findable]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), "/customers/alice/balance/transactions")).Data
	period := "&" + betweenTimes(all[4].CreatedAt, all[1].CreatedAt) // the newest is first

	var got []string
	path := "/customers/alice/balance/transactions?limit=2" + period
	for next := new(""); next != nil; {
		page := e2e.Want[e2e.Page[findable]](t, s, http.StatusOK, e2e.Get(s.CustomerToken(t), path+*next))
		for _, entry := range page.Data {
			got = append(got, entry.Reference)
		}
		if next = page.NextCursor; next != nil {
			next = new("&cursor=" + *next)
		}
	}
	if want := []string{"C-3", "C-2", "C-1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	one := e2e.Get(s.CustomerToken(t), "/customers/alice/balance/transactions?reference=C-4")
	if found := e2e.Want[e2e.Page[findable]](t, s, http.StatusOK, one).Data; len(found) != 1 || found[0].Reference != "C-4" {
		t.Errorf("by reference: %+v", found)
	}
}

// findable is what orders and balance transactions have in common.
type findable struct {
	Reference string
	CreatedAt time.Time `json:"created_at"`
}

func betweenTimes(from, to time.Time) string {
	return "created_from=" + timeText(from) + "&created_to=" + timeText(to)
}

func timeText(at time.Time) string { return at.Format("2006-01-02T15:04:05.000000Z") }
