package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/pg/roundtrips"
)

// What a guarded command may cost: one round trip to claim its key, one to load, and one
// to write and commit. What a replay may cost before it is answered: one.
const (
	maxTrips       = 3
	maxReplayTrips = 1
)

// guardedCalls makes a fresh call of each guarded operation.
var guardedCalls = map[string]func(s *service) call{
	"createOrder": func(s *service) call { return s.orderCall(alice, "tea", 1, s.newKey()) },
	"reserveInventory": func(s *service) call {
		return s.onOrder(s.order(alice, "tea", 1), "/reservation", "")
	},
	"confirmPayment": func(s *service) call {
		return s.confirmCall(alice, s.order(alice, "tea", 1).ID, s.newKey())
	},
	"refundPayment": func(s *service) call {
		return s.onOrder(s.paidOrder(), "/payment/refund", `{"amount": {"amount": "1.00", "currency": "RUB"}}`)
	},
	"cancelOrder": func(s *service) call { return s.onOrder(s.paidOrder(), "/cancel", "{}") },
	"creditBalance": func(s *service) call {
		return s.creditCall(alice, "1.00", s.newKey())
	},
	"chargeBalance": func(s *service) call {
		c := s.creditCall(alice, "1.00", s.newKey())
		c.path = strings.Replace(c.path, "credit", "charge", 1)
		return c
	},
}

// onOrder asks for something about an order of alice's.
func (s *service) onOrder(o orderBody, path, body string) call {
	return call{
		method: "POST", path: fmt.Sprintf("/orders/%d%s", o.ID, path),
		token: s.token(alice, "customer"), key: s.newKey(), body: body,
	}
}

func (s *service) paidOrder() orderBody {
	s.Helper()
	o := s.order(alice, "tea", 1)
	want[paymentBody](s, http.StatusOK, s.confirmCall(alice, o.ID, s.newKey()))
	return o
}

// countedReplica starts a replica whose round trips to the database are counted. It has
// one connection, so that what was prepared once stays prepared.
func (w *world) countedReplica() (*service, *roundtrips.Proxy) {
	w.Helper()
	wire, err := roundtrips.Start(w.databaseURL)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := wire.Close(); err != nil {
			w.Error(err)
		}
	})
	u, err := url.Parse(wire.URL())
	if err != nil {
		w.Fatal(err)
	}
	query := u.Query()
	query.Set("pool_max_conns", "1")
	u.RawQuery = query.Encode()
	return w.replica("ORDERS_DATABASE_URL=" + u.String()), wire
}

// succeed sends a call that must be accepted.
func (s *service) succeed(c call) reply {
	s.Helper()
	r := s.send(c)
	if r.status/100 != 2 {
		s.Fatalf("%s %s: %d %s", c.method, c.path, r.status, r.body)
	}
	return r
}

// TestRoundTripsOfCommands counts on the wire. Statements are prepared by calls before;
// blocks of ids and questions whether a connection is alive are housekeeping of
// [roundtrips.Trip] and do not count.
func TestRoundTripsOfCommands(t *testing.T) {
	w := newWorld(t)
	s, wire := w.countedReplica()
	s.putProduct("tea", 1000)
	s.credit(alice, "100000.00")
	for _, op := range s.contract.Operations() {
		if !op.Idempotent {
			continue
		}
		fresh, known := guardedCalls[op.ID]
		if !known {
			t.Errorf("%s is guarded: its round trips have to be counted, too", op.ID)
			continue
		}
		s.succeed(fresh(s)) // prepares its statements
		c := fresh(s)
		wire.Take()
		s.succeed(c)
		atMost(t, op.ID, maxTrips, wire.Take())
	}
}

// TestRoundTripsOfReplay asks a replica that has not seen the first request: it cannot
// remember the answer. How the transaction ends after the answer does not count.
func TestRoundTripsOfReplay(t *testing.T) {
	w := newWorld(t)
	first := w.replica()
	other, wire := w.countedReplica()
	warm, c := first.creditCall(alice, "1.00", w.newKey()), first.creditCall(alice, "1.00", w.newKey())
	want[transactionBody](first, http.StatusCreated, warm)
	want[transactionBody](first, http.StatusCreated, c)
	other.succeed(warm)
	wire.Take()

	release := wire.HoldAfter(maxReplayTrips)
	late := time.AfterFunc(patience, release)
	r := other.succeed(c)
	if !late.Stop() {
		atMost(t, "a replay", maxReplayTrips, wire.Take())
	}
	release()
	if r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not a replay: %v", r.header)
	}
}

// atMost shows what each round trip was for when there are too many.
func atMost(t *testing.T, what string, limit int, trips []roundtrips.Trip) {
	t.Helper()
	if len(trips) > limit {
		t.Errorf("%s took %d round trips, more than %d:", what, len(trips), limit)
		for i, trip := range trips {
			t.Logf("%d:\n\t%s", i+1, strings.ReplaceAll(strings.Join(trip, ";\n"), "\n", "\n\t"))
		}
	}
}
