package process_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	pgproxy "example.com/orders/internal/test/pg/proxy"
)

// stepsOfACardPayment are those of the table in docs/guide.md. The process is killed after
// each: when it sends, or is about to receive, the message that lost recognises in the
// command's conversation with PostgreSQL.
var stepsOfACardPayment = []struct {
	name string
	lost func(pgproxy.Message) bool
	// answered and committed report whether the client had a response, and whether
	// the payment and its record are in the database.
	answered, committed bool
}{
	{name: "claim", lost: asks("-- name: LockOrder")},
	{name: "load", lost: asks("-- name: InsertPayments")},
	{name: "write", lost: asks("commit")},
	{name: "COMMIT", lost: pgproxy.Message.AnswersCommit, committed: true},
	{name: "answer", committed: true, answered: true},
	{name: "charge", committed: true, answered: true},
}

// asks recognises the client's request for a statement.
func asks(statement string) func(pgproxy.Message) bool {
	return func(m pgproxy.Message) bool {
		return m.From == pgproxy.Client && strings.HasPrefix(m.Statement, statement)
	}
}

func TestConfirmPayment_KilledAfterEachStep(t *testing.T) {
	t.Parallel()
	provider := e2e.StartCardProvider(t, pgtest.New(t))
	cards := e2e.CardSettings(provider.URL)
	survivor := e2e.StartShop(t, e2e.Stock{"tea": len(stepsOfACardPayment)}, cards...)
	for _, step := range stepsOfACardPayment {
		t.Run(step.name, func(t *testing.T) {
			link := pgproxy.Start(t, survivor.ServiceURL(t))
			p := survivor.StartProcess(t, e2e.BuildOrders(t), append(cards, "ORDERS_DATABASE_URL="+link.URL())...)
			order := survivor.MustCreateOrder(t, e2e.Alice, "tea", 1)
			confirm := survivor.CardCall(t, order.ID, "pm_card_visa").WithKey(survivor.NewKey())
			answered, isAnswered := e2e.NewSignal()
			charged := killAfterCharge(t, provider, p, step.name == "charge", answered)
			killInsteadOf(link, p, step.lost)

			first, err := survivor.ServiceOf(p).Try(t.Context(), t, confirm)
			isAnswered()
			e2e.Receive(t, charged, "the provider has charged")
			p.Kill()

			if answered := err == nil; answered != step.answered {
				t.Errorf("the client got a response: %t, want %t: %v", answered, step.answered, err)
			}
			payments := survivor.Count(t, `SELECT count(*) FROM payment WHERE order_id = $1`, order.ID)
			records := survivor.Count(t, `SELECT count(*) FROM idempotency_record WHERE key = $1`, confirm.Key)
			if want := map[bool]int{true: 1}[step.committed]; payments != want || records != want {
				t.Errorf("the database has %d payments and %d records, want %d", payments, records, want)
			}
			retry := survivor.MustSend(t, confirm)
			if retry.Replayed() != step.committed || step.answered && !retry.SameAs(first) {
				t.Errorf("the retry got %d %s, replayed: %t; the first response was %s", retry.Status, retry.Body, retry.Replayed(), first.Body)
			}
		})
	}
	wantEachOrderChargedOnce(t, survivor, provider)
}

// killInsteadOf kills the process, and drops the message that lost recognises on the
// connection that claimed a key. A nil lost recognises none.
func killInsteadOf(link *pgproxy.Proxy, p *e2e.Process, lost func(pgproxy.Message) bool) {
	var command atomic.Int64 // the connection's number
	claims := asks("-- name: ClaimKeys")
	link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if claims(m) {
			command.Store(int64(m.Conn))
		}
		if lost == nil || int64(m.Conn) != command.Load() || !lost(m) {
			return pgproxy.Forward
		}
		p.Kill()
		return pgproxy.CutBefore
	})
}

// killAfterCharge kills the process when the provider has charged the card, instead of
// answering, and the client has its response. If kill is false, no call reaches the provider.
// The channel is closed when nothing more has to happen.
func killAfterCharge(t *testing.T, provider *e2e.CardProvider, p *e2e.Process, kill bool, answered <-chan struct{}) <-chan struct{} {
	t.Helper()
	charged, isCharged := e2e.NewSignal()
	if !kill {
		isCharged()
	}
	provider.SetHook(func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		switch {
		case !kill:
		case r.Method != http.MethodPost:
			double.ServeHTTP(w, r)
			return
		default:
			double.ServeHTTP(httptest.NewRecorder(), r)
			<-answered
			p.Kill()
			isCharged()
		}
		panic(http.ErrAbortHandler) // breaks the connection
	})
	return charged
}

// wantEachOrderChargedOnce lets the survivor run the jobs that the killed processes left.
func wantEachOrderChargedOnce(t *testing.T, s *e2e.Service, provider *e2e.CardProvider) {
	t.Helper()
	provider.SetHook(nil)
	s.ReplaceJobs(t, `kind = 'settle_payment'`)
	s.Run(t)
	e2e.Eventually(t, "every order is paid", func() bool {
		return s.Count(t, `SELECT count(*) FROM orders WHERE status = 'paid'`) == len(stepsOfACardPayment)
	})
	var charges int
	err := provider.DB.QueryRow(t.Context(), `SELECT count(*) FROM fakestripe.intent WHERE status = 'succeeded'`).Scan(&charges)
	if err != nil || charges != len(stepsOfACardPayment) {
		t.Errorf("the provider has %d charges, want %d: %v", charges, len(stepsOfACardPayment), err)
	}
}
