package fakestripe_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stripe/stripe-go/v85/webhook"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience bounds what a test waits for something that has to come.
const patience = 30 * time.Second

// double is a running server and its address.
type double struct {
	*fakestripe.Server
	url string
}

func start(t *testing.T, cfg fakestripe.Config) double {
	t.Helper()
	if cfg.DatabaseURL == "" {
		cfg.DatabaseURL = pgtest.New(t)
	}
	server, err := fakestripe.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server.Handler())
	t.Cleanup(listener.Close)
	return double{Server: server, url: listener.URL}
}

// said is what a caller reads of an answer.
type said struct {
	ID       string
	Code     int
	Status   string
	Error    string
	Replayed bool
	body     string
}

func ask(t *testing.T, method, address, key string, form url.Values) (said, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// Not the header that the transport looks at: it would repeat a call whose connection was dropped.
	r.Header["idempotency-key"] = []string{key}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return said{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return said{}, err
	}
	var read struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Error  struct {
			Type        string `json:"type"`
			Code        string `json:"code"`
			DeclineCode string `json:"decline_code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &read); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return said{
		ID: read.ID, Code: res.StatusCode, Status: read.Status, body: string(body), Replayed: res.Header.Get("Idempotent-Replayed") == "true",
		Error: strings.Trim(read.Error.Type+" "+read.Error.Code+" "+read.Error.DeclineCode, " "),
	}, nil
}

func (d double) charge(t *testing.T, key, token string) (said, error) {
	t.Helper()
	return ask(t, "POST", d.url+"/v1/payment_intents", key, url.Values{
		"amount": {"1999"}, "currency": {"rub"}, "payment_method": {token}, "confirm": {"true"}, "metadata[payment_id]": {"7"},
	})
}

func (d double) charged(t *testing.T) map[int64]fakestripe.Charge {
	t.Helper()
	charges, err := d.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range charges {
		c.ID = ""
		charges[id] = c
	}
	return charges
}

var (
	nothing = map[int64]fakestripe.Charge{}
	once    = map[int64]fakestripe.Charge{7: {PaymentID: 7, Count: 1, Amount: 1999, Currency: "rub"}}
)

func TestTokensBehave(t *testing.T) {
	const lost = -1 // no answer
	tests := map[string]struct {
		first, second said
		after         map[int64]fakestripe.Charge // the first answer
		finally       map[int64]fakestripe.Charge // once all is decided
	}{
		"pm_card_visa":     {said{Code: 200, Status: "succeeded"}, said{Code: 200, Status: "succeeded", Replayed: true}, once, once},
		"pm_card_declined": {said{Code: 402, Error: "card_error card_declined generic_decline"}, said{Code: 402, Error: "card_error card_declined generic_decline", Replayed: true}, nothing, nothing},
		"pm_insufficient":  {said{Code: 402, Error: "card_error card_declined insufficient_funds"}, said{Code: 402, Error: "card_error card_declined insufficient_funds", Replayed: true}, nothing, nothing},
		"pm_500_before":    {said{Code: 500, Error: "api_error"}, said{Code: 200, Status: "succeeded"}, nothing, once},
		"pm_500":           {said{Code: 500, Error: "api_error"}, said{Code: 500, Error: "api_error", Replayed: true}, once, once},
		"pm_drop":          {said{Code: lost}, said{Code: 200, Status: "succeeded", Replayed: true}, once, once},
		"pm_late":          {said{Code: 200, Status: "processing"}, said{Code: 200, Status: "processing", Replayed: true}, nothing, once},
		"pm_late_declined": {said{Code: 200, Status: "processing"}, said{Code: 200, Status: "processing", Replayed: true}, nothing, nothing},
		"pm_action":        {said{Code: 200, Status: "requires_action"}, said{Code: 200, Status: "requires_action", Replayed: true}, nothing, nothing},
		"pm_twice":         {said{Code: 200, Status: "succeeded"}, said{Code: 200, Status: "succeeded", Replayed: true}, once, once},
		"pm_unknown":       {said{Code: 400, Error: "invalid_request_error resource_missing"}, said{Code: 400, Error: "invalid_request_error resource_missing"}, nothing, nothing},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			d := start(t, fakestripe.Config{Late: time.Hour})
			for i, want := range []said{test.first, test.second} {
				got, err := d.charge(t, "payment-7", token)
				if err != nil {
					got.Code = lost
				}
				got.ID, got.body = "", ""
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(said{})); diff != "" {
					t.Errorf("answer %d (-want +got):\n%s", i+1, diff)
				}
				if diff := cmp.Diff(test.after, d.charged(t)); i == 0 && diff != "" {
					t.Errorf("after the first answer (-want +got):\n%s", diff)
				}
			}
			if err := d.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.finally, d.charged(t)); diff != "" {
				t.Errorf("finally (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHangEndsWithTheCaller(t *testing.T) {
	d := start(t, fakestripe.Config{Failures: 2})
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		r, err := http.NewRequestWithContext(ctx, "POST", d.url+"/v1/payment_intents", strings.NewReader("payment_method=pm_hang"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "idempotency-key": {"payment-7"}}
		for ctx.Err() == nil { // 409 while the double has not seen yet that the last caller left
			res, err := http.DefaultTransport.RoundTrip(r.Clone(ctx))
			if err != nil {
				continue
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusConflict {
				t.Fatalf("answered %d", res.StatusCode)
			}
		}
		cancel()
	}
	for {
		got, err := d.charge(t, "payment-7", "pm_hang")
		if err != nil {
			t.Fatal(err)
		}
		if got.Code == http.StatusConflict {
			continue
		}
		if got.Code != http.StatusOK {
			t.Errorf("the third try was answered %d: %s", got.Code, got.body)
		}
		break
	}
	if diff := cmp.Diff(once, d.charged(t)); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyWhatWaitsCanBeCancelled(t *testing.T) {
	for token, want := range map[string]said{
		"pm_action":    {Code: 200, Status: "canceled"},
		"pm_card_visa": {Code: 400, Error: "invalid_request_error payment_intent_unexpected_state"},
		"pm_late":      {Code: 400, Error: "invalid_request_error payment_intent_unexpected_state"},
	} {
		d := start(t, fakestripe.Config{})
		made, err := d.charge(t, "payment-7", token)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(t, "POST", d.url+"/v1/payment_intents/"+made.ID+"/cancel", "payment-7-cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		got.ID, got.body = "", ""
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(said{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", token, diff)
		}
	}
}

func TestKeyWithOtherParametersIsRefused(t *testing.T) {
	d := start(t, fakestripe.Config{})
	if _, err := d.charge(t, "payment-7", "pm_card_visa"); err != nil {
		t.Fatal(err)
	}
	got, err := d.charge(t, "payment-7", "pm_twice")
	if err != nil || got.Code != http.StatusBadRequest || got.Error != "idempotency_error" {
		t.Errorf("answer %+v, err = %v; want 400 idempotency_error", got, err)
	}
	if diff := cmp.Diff(once, d.charged(t)); diff != "" {
		t.Error(diff)
	}
}

// TestKeyThatIsRunningIsRefused holds the table of answers, so that whichever call comes first runs until the other
// has been answered.
func TestKeyThatIsRunningIsRefused(t *testing.T) {
	database := pgtest.New(t)
	d := start(t, fakestripe.Config{DatabaseURL: database})
	conn := connect(t, database)
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE psp_double.answer"); err != nil {
		t.Fatal(err)
	}
	answers := make(chan said, 2)
	for range 2 {
		go func() {
			got, err := d.charge(t, "payment-7", "pm_card_visa")
			if err != nil {
				t.Error(err)
			}
			answers <- got // also the zero one, or the test would wait for ever
		}()
	}
	if got := <-answers; got.Code != http.StatusConflict || got.Error != "idempotency_error idempotency_key_in_use" {
		t.Errorf("the second was answered %d %q, want 409", got.Code, got.Error)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if got := <-answers; got.Code != http.StatusOK {
		t.Errorf("the first was answered %d: %s", got.Code, got.body)
	}
	if diff := cmp.Diff(once, d.charged(t)); diff != "" {
		t.Error(diff)
	}
}

func TestKeysOutliveTheProcess(t *testing.T) {
	cfg := fakestripe.Config{DatabaseURL: pgtest.New(t)}
	before, err := start(t, cfg).charge(t, "payment-7", "pm_card_visa")
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, cfg)
	after, err := d.charge(t, "payment-7", "pm_card_visa")
	if err != nil || !after.Replayed || after.body != before.body {
		t.Errorf("before: %s\nafter:  %s (replayed: %v, err = %v)", before.body, after.body, after.Replayed, err)
	}
	if diff := cmp.Diff(once, d.charged(t)); diff != "" {
		t.Error(diff)
	}
}

func TestRefundsBehave(t *testing.T) {
	tests := map[string]struct {
		code     int // 0: no answer
		status   string
		refunded int64 // once all is decided
	}{
		"pm_card_visa":   {200, "succeeded", 500},
		"pm_refund_fail": {200, "failed", 0},
		"pm_refund_late": {200, "pending", 500},
		"pm_refund_500":  {500, "", 500},
		"pm_refund_drop": {0, "", 500},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			d := start(t, fakestripe.Config{Late: time.Hour})
			intent := d.intent(t, token)
			got, _ := d.refund(t, intent, "refund-8", "500")
			if got.Code != test.code || got.Status != test.status {
				t.Errorf("answered %d %q, want %d %q", got.Code, got.Status, test.code, test.status)
			}
			if err := d.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if refunded := d.charged(t)[7].Refunded; refunded != test.refunded {
				t.Errorf("%d refunded, want %d", refunded, test.refunded)
			}
		})
	}
}

// intent charges and gives the id of the intent.
func (d double) intent(t *testing.T, token string) string {
	t.Helper()
	got, err := d.charge(t, "payment-7", token)
	if err != nil || got.Code != http.StatusOK {
		t.Fatalf("charge: %+v, err = %v", got, err)
	}
	charges, err := d.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges[7].ID
}

func (d double) refund(t *testing.T, intent, key, amount string) (said, error) {
	t.Helper()
	return ask(t, "POST", d.url+"/v1/refunds", key, url.Values{"payment_intent": {intent}, "amount": {amount}})
}

func TestRefundsNeverExceedTheCharge(t *testing.T) {
	d := start(t, fakestripe.Config{})
	intent := d.intent(t, "pm_card_visa")
	for i, want := range []string{"", "invalid_request_error", "", "invalid_request_error charge_already_refunded"} {
		amount := []string{"1000", "1000", "999", "1"}[i]
		if got, err := d.refund(t, intent, "refund-"+string(rune('a'+i)), amount); err != nil || got.Error != want {
			t.Errorf("refund %d of %s: %q, err = %v; want %q", i+1, amount, got.Error, err, want)
		}
	}
}

// inbox takes webhooks and checks their signatures with the provider's own library.
type inbox struct {
	url   string
	types chan string
}

func openInbox(t *testing.T, refuseFirst int64) inbox {
	t.Helper()
	box := inbox{types: make(chan string, 100)}
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		event, err := webhook.ConstructEvent(payload, r.Header.Get("Stripe-Signature"), "whsec_1")
		if err != nil {
			t.Error(err)
		}
		if seen.Add(1) <= refuseFirst {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		box.types <- string(event.Type)
	}))
	t.Cleanup(server.Close)
	box.url = server.URL
	return box
}

func (b inbox) next(t *testing.T) string {
	t.Helper()
	select {
	case name := <-b.types:
		return name
	case <-time.After(patience):
		t.Fatal("no webhook came")
		return ""
	}
}

func (b inbox) read() []string {
	var types []string
	for len(b.types) > 0 {
		types = append(types, <-b.types)
	}
	return types
}

func TestWebhooksTellWhatHappened(t *testing.T) {
	tests := map[string][]string{
		"pm_card_visa":     {"payment_intent.created", "payment_intent.succeeded"},
		"pm_card_declined": {"payment_intent.created", "payment_intent.payment_failed"},
		"pm_late":          {"payment_intent.created", "payment_intent.processing", "payment_intent.succeeded"},
		"pm_late_declined": {"payment_intent.created", "payment_intent.processing", "payment_intent.payment_failed"},
		"pm_twice": {
			"payment_intent.succeeded", "payment_intent.processing", "payment_intent.created",
			"payment_intent.succeeded", "payment_intent.processing", "payment_intent.created",
		},
	}
	for token, want := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			box := openInbox(t, 0)
			d := start(t, fakestripe.Config{WebhookURL: box.url, WebhookSecret: "whsec_1", Late: time.Hour})
			if _, err := d.charge(t, "payment-7", token); err != nil {
				t.Fatal(err)
			}
			if err := d.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, box.read()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWebhooksWaitWhileThereIsNowhereToSendThem(t *testing.T) {
	box := openInbox(t, 0)
	d := start(t, fakestripe.Config{WebhookSecret: "whsec_1"})
	d.intent(t, "pm_card_visa")
	for _, target := range []string{"", box.url} {
		d.SendTo(target)
		if err := d.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		webhooks, err := d.Webhooks(t.Context())
		if err != nil || len(webhooks) != 2 {
			t.Fatalf("%d webhooks, err = %v", len(webhooks), err)
		}
		if sent := target != ""; webhooks[0].Delivered != sent {
			t.Errorf("target %q: delivered = %v", target, webhooks[0].Delivered)
		}
	}
	if got := box.read(); len(got) != 2 {
		t.Errorf("the inbox has %v", got)
	}
}

func TestWebhooksAreDelayed(t *testing.T) {
	box := openInbox(t, 0)
	d := start(t, fakestripe.Config{WebhookURL: box.url, WebhookSecret: "whsec_1", WebhookDelay: time.Hour})
	d.intent(t, "pm_card_visa")
	if err := d.Deliver(t.Context()); err != nil || len(box.read()) != 0 {
		t.Errorf("delivered before it was due, or err = %v", err)
	}
}

func TestWebhooksAreSentUntilTaken(t *testing.T) {
	box := openInbox(t, 3)
	d := start(t, fakestripe.Config{WebhookURL: box.url, WebhookSecret: "whsec_1"})
	d.intent(t, "pm_card_visa")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		d.SendWebhooks(ctx)
		close(ended)
	}()
	got := map[string]bool{box.next(t): true, box.next(t): true}
	cancel()
	<-ended
	if diff := cmp.Diff([]string{"payment_intent.created", "payment_intent.succeeded"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyWhoKnowsTheKeyIsServed(t *testing.T) {
	d := start(t, fakestripe.Config{Key: "sk_test_1"})
	got, err := d.charge(t, "payment-7", "pm_card_visa")
	if err != nil || got.Code != http.StatusUnauthorized {
		t.Errorf("answered %d, err = %v; want 401", got.Code, err)
	}
	if diff := cmp.Diff(nothing, d.charged(t)); diff != "" {
		t.Error(diff)
	}
}

func TestServeIsForLoopbackOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := start(t, fakestripe.Config{}).Serve(t.Context(), listener); err == nil {
		t.Error("it served the network")
	}
}

func TestServeEndsWithItsContextAndLeavesNobodyHanging(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	database := pgtest.New(t)
	d := start(t, fakestripe.Config{DatabaseURL: database})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, listener) }()
	d.url = "http://" + listener.Addr().String()
	answered := make(chan error, 1)
	go func() {
		_, err := d.charge(t, "payment-7", "pm_hang")
		answered <- err
	}()
	awaitTry(t, database)
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := <-answered; err == nil {
		t.Error("the hanging call was answered")
	}
}

// awaitTry returns when the double has noted a try, after which it hangs.
func awaitTry(t *testing.T, database string) {
	t.Helper()
	conn := connect(t, database)
	for noted := false; !noted; {
		if err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM psp_double.try)`).Scan(&noted); err != nil {
			t.Fatal(err)
		}
	}
}

func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
