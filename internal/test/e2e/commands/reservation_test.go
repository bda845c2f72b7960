package commands_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

func TestReserveInventory_ExtendsReservation(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	for name, token := range map[string]string{
		"the customer": s.CustomerToken(t), "the seller": s.SellerToken(t), "the system": s.SystemToken(t),
	} {
		o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
		before := s.ReadProduct(t, "tea")
		s.Exec(t, "UPDATE orders SET reserved_until = reserved_until - interval '10 minutes' WHERE id = $1", o.ID)
		extended := e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(token, o.ID))
		if extended.Status != "pending_payment" || extended.Version != o.Version+1 || extended.Reservation == nil ||
			extended.Reservation.ExpiresAt.Before(o.Reservation.ExpiresAt) {
			t.Errorf("%s extended %+v to %+v", name, o, extended)
		}
		s.WantStock(t, "tea", before.OnHand, before.Reserved)
	}
}

func TestReserveInventory_ReservesReleasedStock(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 3})
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	s.ExpireReservation(t, o.ID)
	s.ReleaseExpiredReservations(t)
	s.WantStock(t, "tea", 3, 0)
	if o = s.ReadOrder(t, o.ID); o.Reservation != nil || o.Status != "pending_payment" {
		t.Errorf("after the reservation expired the order is %+v", o)
	}
	if o = e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(s.CustomerToken(t), o.ID)); o.Reservation == nil {
		t.Errorf("after the stock was reserved the order is %+v", o)
	}
	s.WantStock(t, "tea", 3, 2)
}

func TestReserveInventory_RefusesWhenStockIsReservedByOthers(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 3})
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	s.ExpireReservation(t, o.ID)
	s.ReleaseExpiredReservations(t)
	other := s.MustCreateOrder(t, e2e.Mallory, "tea", 2)
	refused := s.ReserveCall(s.CustomerToken(t), o.ID)
	s.WantProblem(t, http.StatusConflict, "out_of_stock", refused)
	if o = s.ReadOrder(t, o.ID); o.Reservation != nil {
		t.Errorf("nothing could be reserved, and the order is %+v", o)
	}
	s.WantStock(t, "tea", 3, 2)

	e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(s.Token(t, e2e.Mallory, "customer"), other.ID))
	s.WantProblem(t, http.StatusConflict, "out_of_stock", refused) // the key has its response
	e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(s.CustomerToken(t), o.ID))
	s.WantStock(t, "tea", 3, 2)
}

// A reservation that expired and was not released yet still has its units: extending it
// keeps them and reserves no others.
func TestReserveInventory_KeepsUnitsOfExpiredReservation(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 2})
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	s.ExpireReservation(t, o.ID)
	e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(s.CustomerToken(t), o.ID))
	s.WantStock(t, "tea", 2, 2)
	s.ReleaseExpiredReservations(t)
	s.WantStock(t, "tea", 2, 2)
}
