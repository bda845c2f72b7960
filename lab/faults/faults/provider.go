package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
)

// providerFaults break the card provider.
var providerFaults = []Fault{
	{
		Name: "bad-provider", Number: "F13", Short: true,
		Strike: func(t testing.TB, l *clients.Load, _ *rand.Rand) {
			t.Helper()
			strikeProvider(t, l, func() string { return "pm_card_visa" })
		},
		Proof: misbehaviourCounters(),
	},
	{
		Name: "bad-provider-any-card", Number: "F13", Strikes: 2,
		Strike: func(t testing.TB, l *clients.Load, random *rand.Rand) {
			t.Helper()
			strikeProvider(t, l, func() string { return clients.OneOf(random, slices.Sorted(maps.Keys(cards))) })
		},
		Proof: misbehaviourCounters(),
	},
}

// cards maps each kind of card to its payment's outcome.
var cards = map[string]string{
	"pm_card_visa": "captured", "pm_card_declined": "failed", "pm_insufficient": "failed", "pm_500_before": "captured",
	"pm_500": "captured", "pm_drop": "captured", "pm_late": "captured", "pm_late_declined": "failed", "pm_twice": "captured",
}

// misbehaviour is a wrong provider response to the first call about an order.
type misbehaviour struct {
	name string
	do   e2e.ProviderHook
	// undecided reports that the answer is about something else, so that it must not
	// decide the payment.
	undecided bool
	// alters reports that only charges are altered: a decline counts as it is.
	alters bool
	// forgets makes the provider forget all keys afterwards. A new job replaces the one
	// that called.
	forgets bool
}

var misbehaviours = []misbehaviour{
	{name: "answers of 429", do: answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}), undecided: true},
	{name: "answers of 500 before the work", do: answer(http.StatusInternalServerError, nil), undecided: true},
	{name: "answers of 500 after the work", do: afterWork(answer(http.StatusInternalServerError, nil)), undecided: true},
	{name: "answers that are lost", do: afterWork(breakOff), undecided: true},
	{name: "answers that are lost, and keys forgotten", do: afterWork(breakOff), undecided: true, forgets: true},
	{name: "half answers", do: halfAnswer, undecided: true},
	{name: "answers that come twice", do: answerTwice},
	{name: "answers with another amount", do: alter("amount", oneMore), undecided: true, alters: true},
	{name: "answers with another currency", do: alter("currency", func(any) any { return "usd" }), undecided: true, alters: true},
	{name: "answers about another payment", do: alter("metadata", otherPayment), undecided: true, alters: true},
	{name: "answers with an unknown status", do: alter("status", func(any) any { return "on_its_way" }), undecided: true, alters: true},
}

func misbehaviourCounters() []string {
	var names []string
	for _, m := range misbehaviours {
		names = append(names, m.name)
	}
	return names
}

func answer(status int, header http.Header) e2e.ProviderHook {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		maps.Copy(w.Header(), header)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error": {"type": "api_error", "message": "An error occurred"}}`)) // the caller may be gone
	}
}

// breakOff breaks the connection.
func breakOff(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// afterWork lets the double work before a hook answers.
func afterWork(then e2e.ProviderHook) e2e.ProviderHook {
	return func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		work(r, double)
		then(w, r, double)
	}
}

// record returns the double's answer.
func record(r *http.Request, double http.Handler) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	double.ServeHTTP(response, r)
	return response
}

// halfAnswer breaks the connection in the middle of the answer.
func halfAnswer(w http.ResponseWriter, r *http.Request, double http.Handler) {
	response := record(r, double)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(response.Body.Len()))
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()[:response.Body.Len()/2])
	_ = http.NewResponseController(w).Flush() // the caller gets this half
	panic(http.ErrAbortHandler)
}

// answerTwice writes the whole response twice.
func answerTwice(w http.ResponseWriter, r *http.Request, double http.Handler) {
	response := record(r, double)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // the server speaks HTTP/1.1
	}
	defer conn.Close() //nolint:errcheck // the caller may be gone
	var text bytes.Buffer
	_ = response.Result().Write(&text) // a buffer takes everything
	_, _ = conn.Write(bytes.Repeat(text.Bytes(), 2))
}

// oneMore returns a JSON number plus one.
func oneMore(number any) any {
	n, ok := number.(float64)
	if !ok {
		panic(fmt.Sprintf("%v is no number", number))
	}
	return n + 1
}

// alter changes a member in the double's answer.
func alter(member string, change func(any) any) e2e.ProviderHook {
	return func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		response := record(r, double)
		var body map[string]any
		if json.Unmarshal(response.Body.Bytes(), &body) == nil {
			object := body
			if failure, refused := body["error"].(map[string]any); refused {
				object, _ = failure["payment_intent"].(map[string]any)
			}
			if value, found := object[member]; found {
				object[member] = change(value)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.Code)
		_ = json.NewEncoder(w).Encode(body) // the caller may be gone
	}
}

func otherPayment(any) any {
	return map[string]any{"orders_payment": "payment-00000000-0000-4000-8000-000000000000", "order_id": "1", "payment_id": "1"}
}

// struck is a card payment whose first provider call gets a bad answer.
type struck struct {
	misbehaviour
	card    string
	order   e2e.Order
	payment e2e.Payment

	mu     sync.Mutex
	key    string // the payment's key at the provider; empty before the first call
	healed bool
}

// isAbout reports whether a call is about the payment.
func (p *struck) isAbout(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return isAbout(r, p.order) || p.key != "" && strings.Contains(r.URL.Query().Get("query"), p.key)
}

// takes reports whether this call gets the bad answer. Until the strike heals the
// payment, all further calls are refused, so that only the bad answer can have decided
// it.
func (p *struck) takes(r *http.Request) (first, refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key == "" {
		p.key = r.PostForm.Get("metadata[orders_payment]")
		return true, false
	}
	return false, !p.healed
}

func (p *struck) isCalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key != ""
}

func (p *struck) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healed = true
}

// strikeProvider pays an order with a card for each misbehaviour. It checks that the
// bad answer decides nothing, and that the payment ends with one outcome and one
// charge.
func strikeProvider(t testing.TB, l *clients.Load, drawCard func() string) {
	t.Helper()
	front := l.ServiceAt(l.Replicas[0])
	var payments []*struck
	for _, m := range misbehaviours {
		payments = append(payments, &struck{misbehaviour: m, card: drawCard(), order: l.NewOrder(t, l.Replicas[0])})
	}
	l.Provider.HoldWebhooks() // only an answer can decide
	l.Provider.SetHook(misbehaveOnce(payments))
	for _, p := range payments {
		p.payment = front.MustPayByCard(t, p.order.ID, p.card)
	}
	for _, p := range payments {
		checkMisbehaviour(t, l, p)
	}
	for _, p := range payments {
		p.heal()
		hurrySettlement(t, l, p.payment)
	}
	for _, p := range payments {
		status := cards[p.card]
		l.AwaitPayment(t, p.payment, status)
		l.WantCharges(t, p.payment, map[string]int{"captured": 1, "failed": 0}[status])
	}
	l.Provider.SetHook(nil)
	l.Provider.ReleaseWebhooks()
}

// misbehaveOnce answers the first call about each payment badly.
func misbehaveOnce(payments []*struck) e2e.ProviderHook {
	return func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		i := slices.IndexFunc(payments, func(p *struck) bool { return p.isAbout(r) })
		if i < 0 {
			double.ServeHTTP(w, r)
			return
		}
		switch first, refuse := payments[i].takes(r); {
		case first:
			payments[i].do(w, r, double)
		case refuse:
			answer(http.StatusServiceUnavailable, nil)(w, r, double)
		default:
			double.ServeHTTP(w, r)
		}
	}
}

// checkMisbehaviour waits until the service has processed the answer.
func checkMisbehaviour(t testing.TB, l *clients.Load, p *struck) {
	t.Helper()
	e2e.Eventually(t, "the provider is called", p.isCalled)
	l.Counters.Add(p.name, 1)
	if !p.undecided || p.alters && cards[p.card] == "failed" {
		return
	}
	e2e.Eventually(t, p.name+": an attempt has failed", func() bool {
		return l.PaymentStatus(t, p.payment) != "processing" || l.Count(t, `SELECT count(*) FROM river.river_job
			WHERE kind = 'settle_payment' AND args->>'id' = $1 AND cardinality(errors) > 0`, fmt.Sprint(p.payment.ID)) == 1
	})
	if got := l.PaymentStatus(t, p.payment); got != "processing" {
		t.Errorf("%s: payment %d is %s, want processing", p.name, p.payment.ID, got)
	}
	if p.forgets {
		forget(t, l, p.payment)
	}
}

// forget makes the provider forget a payment's key, and replaces the settlement job
// with one that has not run. Other payments have used their keys recently, and no
// provider forgets those.
func forget(t testing.TB, l *clients.Load, p e2e.Payment) {
	t.Helper()
	if err := l.Provider.ForgetKey(t.Context(), l.PaymentKey(t, p.ID)); err != nil {
		t.Fatal(err)
	}
	l.ReplaceJobs(t, `kind = 'settle_payment' AND args->>'id' = $1`, fmt.Sprint(p.ID))
}

// hurrySettlement lets a payment's job run now instead of some seconds later.
func hurrySettlement(t testing.TB, l *clients.Load, p e2e.Payment) {
	t.Helper()
	l.Exec(t, `UPDATE river.river_job SET state = 'available', scheduled_at = now()
		WHERE kind = 'settle_payment' AND args->>'id' = $1 AND state IN ('retryable', 'scheduled')`, fmt.Sprint(p.ID))
}
