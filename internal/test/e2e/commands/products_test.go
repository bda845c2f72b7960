package commands_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// A seller whose PUT got no response sends it again, as HTTP allows. Meanwhile all ten
// units have been sold.
func TestPutProduct_RepeatedPutNeverBringsSoldStockBack(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	put := s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10)
	created := s.Send(t, put)
	s.MustCreatePaidOrder(t, e2e.Alice, "tea", 10)

	s.WantProblem(t, http.StatusPreconditionRequired, "precondition_required", put)
	s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", put.WithHeader("If-Match", created.Header.Get("ETag")))
	s.WantStock(t, "tea", 0, 0)
	s.WantProblem(t, http.StatusConflict, "out_of_stock", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
}

// What a seller does who has read the product: another one was faster, so they read it
// again.
func TestPutProduct_ReplacesWhatTheSellerHasSeen(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	etag := s.Send(t, s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10)).Header.Get("ETag")
	s.MustCreateOrder(t, e2e.Alice, "tea", 1) // a reservation changes nothing that a PUT replaces
	count := func(onHand int, etag string) e2e.Call {
		return s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), onHand).WithHeader("If-Match", etag)
	}

	first := s.MustSend(t, count(12, etag))
	s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", count(15, etag))
	read := s.MustSend(t, e2e.Get(s.SellerToken(t), "/products/tea"))
	if got, want := read.Header.Get("ETag"), first.Header.Get("ETag"); got != want || got == etag {
		t.Errorf("the product has the ETag %s, the response to its PUT %s, the first one %s", got, want, etag)
	}
	s.MustSend(t, count(15, `"from-elsewhere", `+read.Header.Get("ETag")))
	s.WantStock(t, "tea", 15, 1)
}

func TestPutProduct_LeavesStockAloneWithoutOnHand(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	s.MustCreatePaidOrder(t, e2e.Alice, "tea", 4)
	put := s.PutPriceCall(t, "tea", e2e.Shop, e2e.Roubles("120.00"))
	for range 2 {
		p := e2e.Want[e2e.Product](t, s, http.StatusOK, put)
		if p.OnHand != 6 || p.Price != e2e.Roubles("120.00") {
			t.Errorf("the product is %+v", p)
		}
	}
	s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", put.WithHeader("If-Match", `W/"1"`))
}

// The seller counts the stock while a customer pays. Either the count comes first, and the
// sale is taken from it; or it comes too late, and is refused.
func TestPutProduct_RacesConfirmPayment(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	a, b := env.StartReplica(t), env.StartReplica(t)
	a.Credit(t, e2e.Alice, "100000.00")
	a.PutProduct(t, "tea", 1)
	ends := tally{}
	for range raceRounds {
		o := a.MustCreateOrder(t, e2e.Alice, "tea", 1)
		etag := a.MustSend(t, e2e.Get(a.SellerToken(t), "/products/tea")).Header.Get("ETag")
		count := a.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10).WithHeader("If-Match", etag)
		r := e2e.SendTogether(t, a.Request(count), b.Request(a.ConfirmCall(t, e2e.Alice, o.ID)))
		ends.add(r...)
		wantOneOf(t, "confirm", r[1], "200")
		wantOneOf(t, "count", r[0], "200", "412 precondition_failed")
		left := 0
		if r[0].Status == http.StatusOK {
			left = 9
		}
		a.WantStock(t, "tea", left, 0)
		a.AdjustStock(t, "tea", 1-left)
	}
	ends.log(t)
	e2e.CheckInvariants(t, a.DB, nil) // the counts are no adjustments
}
