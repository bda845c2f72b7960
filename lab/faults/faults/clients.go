package faults

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// clientFaults are clients that are slow, send half a request or hang up, or send one
// request to all replicas at once.
var clientFaults = []Fault{
	{
		Name: "half-sent-requests", Number: "F11",
		Strike: sendHalfRequests,
		Proof: []string{
			"half headers", "half bodies", "requests completed later", "requests whose client was gone",
		},
	},
	{
		Name: "two-replicas-one-key", Number: "F7",
		Strike: sendToBothReplicas,
		Proof:  []string{"keys sent to both replicas at once", "answers of the other replica's record"},
	},
	{
		Name: "binding-bounds", Number: "F20",
		Needs: world.Needs{Settings: []string{
			fmt.Sprint("ORDERS_UNPAID_ORDERS=", mostUnpaid), fmt.Sprint("ORDERS_RESERVATION_EXTENSIONS=", mostExtensions),
			"ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=12",
		}},
		Strike:   watchBounds,
		Verdicts: []string{"409 unpaid_orders_limit", "429 rate_limited"},
		Proof:    []string{"responses unpaid_orders_limit", "extensions refused", "responses rate_limited"},
	},
}

const mostUnpaid, mostExtensions = 2, 1

// watchBounds extends an order too often, and looks for orders beyond the bounds while
// clients run into them.
func watchBounds(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	extend := e2e.Call{
		Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/reservation", l.NewOrder(t, l.Draw(random)).ID),
		Token: l.CustomerToken(t),
	}
	for range mostExtensions {
		if r := l.Decide(t, l.Draw(random), extend.WithKey(l.NewKey())); r.Status != http.StatusOK {
			t.Errorf("an extension within the bound: %d %s", r.Status, r.Body)
		}
	}
	l.ServiceAt(l.Draw(random)).WantProblem(t, http.StatusConflict, "reservation_limit", extend.WithKey(l.NewKey()))
	l.Counters.Add("extensions refused", 1)
	for range 10 {
		l.AwaitAttempts(t, clients.Pause)
		hoarders := l.Count(t, `SELECT count(*) FROM (SELECT FROM orders WHERE status IN ('pending_payment', 'payment_processing')
			GROUP BY customer_id, created_by HAVING count(*) > $1) x`, mostUnpaid)
		extended := l.Count(t, `SELECT count(*) FROM (SELECT FROM reservation_extension GROUP BY order_id HAVING count(*) > $1) x`, mostExtensions)
		if hoarders > 0 || extended > 0 {
			t.Errorf("%d have more unpaid orders than they may, and %d orders were extended too often", hoarders, extended)
		}
	}
}

// halfSent is the number of misbehaving clients of each kind.
const halfSent = 16

// sendHalfRequests connects clients that stop in the middle of a request.
func sendHalfRequests(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	r := l.Draw(random)
	goroutines := e2e.Goroutines.Read(t, r.AdminAddr)
	for range halfSent {
		dial(t, r).send(t, "POST /orders HTTP/1.1\r\nHost: orders\r\nAuthor")
		l.Counters.Add("half headers", 1)
	}
	var began string
	l.ReadValue(t, &began, `SELECT clock_timestamp()::text`)
	var stalled []*halfRequest
	for range halfSent {
		h := &halfRequest{rawConn: dial(t, r), call: l.CreditCall(t, l.UniqueName("bystander"), "1.00")}
		h.text = raw(h.call)
		h.sent = len(h.text) - 1 - random.IntN(len(h.call.Body)-1)
		h.send(t, h.text[:h.sent])
		stalled = append(stalled, h)
		l.Counters.Add("half bodies", 1)
	}
	l.AwaitAttempts(t, clients.Pause/2) // clients are still served
	e2e.Eventually(t, "no transaction is older than the half requests", func() bool {
		return l.Count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'orders' AND xact_start < $1::timestamptz`, began) == 0
	})
	for i, h := range stalled {
		if l.Count(t, `SELECT count(*) FROM ledger_entry WHERE idempotency_key = $1`, h.call.Key) != 0 {
			t.Errorf("%s took effect before it was sent", h.call.Key)
		}
		completeOrAbort(t, l, h, i%2 == 0)
		l.WantCredited(t, l.Other(r), h.call)
	}
	e2e.Eventually(t, "the goroutines of these clients have ended", func() bool {
		return e2e.Goroutines.Read(t, r.AdminAddr) < goroutines+halfSent
	})
}

// halfRequest is a partly sent request.
type halfRequest struct {
	rawConn

	call e2e.Call
	text string
	sent int
}

// reset closes the connection so that the service reads an error instead of EOF.
func (h *halfRequest) reset(t testing.TB) {
	t.Helper()
	tcp, ok := h.conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("%T is no TCP connection", h.conn)
	}
	_ = tcp.SetLinger(0) // the service may have closed it
	_ = tcp.Close()
}

// completeOrAbort sends the remainder and reads the answer, or hangs up at once.
func completeOrAbort(t testing.TB, l *clients.Load, h *halfRequest, complete bool) {
	t.Helper()
	if !h.send(t, h.text[h.sent:]) {
		return // the service has hung up
	}
	if !complete {
		h.reset(t)
		l.Counters.Add("requests whose client was gone", 1)
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	if err != nil {
		return // the service has hung up
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%s: a request that was completed later got %s", h.call.Key, response.Status)
	}
	l.Counters.Add("requests completed later", 1)
}

// raw returns a call as bytes on the wire.
func raw(c e2e.Call) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: orders\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\n"+
		"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		c.Method, c.Path, c.Token, c.Key, len(c.Body), c.Body)
}

// rawConn is a connection below HTTP.
type rawConn struct{ conn net.Conn }

// dial connects to a replica until the test ends.
func dial(t testing.TB, r *world.Replica) rawConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return rawConn{conn}
}

// send sends some text, and reports whether the connection was open.
func (c rawConn) send(t testing.TB, text string) bool {
	t.Helper()
	_, err := c.conn.Write([]byte(text))
	return err == nil
}

// sendToBothReplicas sends several copies of each contract command to all replicas at
// the same moment.
func sendToBothReplicas(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	const copies = 3
	for _, route := range routes.Guarded() {
		command := routes.Prepare(t, l.ServiceAt(l.Replicas[0]), route)
		call := command.WithKey(l.NewKey())
		endings := make([]<-chan world.Ending, 0, copies*len(l.Replicas))
		for range copies {
			for _, r := range l.Replicas {
				endings = append(endings, l.SendAside(t, r, call))
			}
		}
		l.Counters.Add("keys sent to both replicas at once", 1)
		checkCopies(t, l, command, call, endings)
	}
}

// checkCopies checks that one request took effect, and that all got its answer.
func checkCopies(t testing.TB, l *clients.Load, command routes.Command, call e2e.Call, endings []<-chan world.Ending) {
	t.Helper()
	first := l.Decide(t, l.Replicas[0], call)
	if first.Status != command.Status {
		t.Errorf("%s: %d %s, want %d", command.Operation.ID, first.Status, first.Body, command.Status)
	}
	for _, end := range endings {
		got := e2e.Receive(t, end, "a request ends")
		if got.Err != nil || !got.Reply.SameAs(first) && got.Reply.Code() != "idempotency_in_progress" {
			t.Errorf("%s: %d %s, %v; another request got %d %s",
				command.Operation.ID, got.Reply.Status, got.Reply.Body, got.Err, first.Status, first.Body)
		}
		if got.Reply.Replayed() {
			l.Counters.Add("answers of the other replica's record", 1)
		}
	}
	command.WantEffects(t, 1)
}
