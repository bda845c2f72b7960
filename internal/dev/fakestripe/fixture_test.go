package fakestripe_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stripe/stripe-go/v85/webhook"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// key is the idempotency key of the charge in most tests.
const key = "payment-7"

// fake is a running fakestripe.
type fake struct {
	server *fakestripe.Server
	url    string
}

func start(t *testing.T, cfg fakestripe.Config) fake {
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
	return fake{server: server, url: listener.URL}
}

// response is what a test compares of a response.
type response struct {
	Code     int // 0: none
	Status   string
	Error    string // type, code and decline code
	Replayed bool
}

// details are the parts of a response that differ from call to call.
type details struct{ ID, Body string }

// post calls the API. It returns an error if there is no response.
func post(t *testing.T, address, key string, form url.Values) (response, details, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = formHeader(key)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return response{}, details{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return response{}, details{}, err
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
	return response{
		Code: res.StatusCode, Status: read.Status,
		Error:    strings.Trim(read.Error.Type+" "+read.Error.Code+" "+read.Error.DeclineCode, " "),
		Replayed: res.Header.Get("Idempotent-Replayed") == "true",
	}, details{ID: read.ID, Body: string(body)}, nil
}

// formHeader returns the header of a call. The idempotency key is in lower case on
// purpose: the transport would retry a dropped call by itself if it recognised the key.
func formHeader(key string) http.Header {
	return http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "idempotency-key": {key}}
}

// charge charges payment 7 with a token. It returns an error if there is no response.
func (f fake) charge(t *testing.T, token string) (response, details, error) {
	t.Helper()
	return post(t, f.url+"/v1/payment_intents", key, url.Values{
		"amount": {"1999"}, "currency": {"rub"}, "payment_method": {token}, "confirm": {"true"},
		"metadata[orders_payment]": {"payment-7"},
	})
}

// mustCharge charges payment 7 and returns the id of the intent.
func (f fake) mustCharge(t *testing.T, token string) string {
	t.Helper()
	res, _, err := f.charge(t, token)
	if err != nil || res.Code != http.StatusOK {
		t.Fatalf("charge: %+v, err = %v", res, err)
	}
	charges, err := f.server.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges["payment-7"].ID
}

func (f fake) refund(t *testing.T, intent, key, amount string) (response, error) {
	t.Helper()
	res, _, err := post(t, f.url+"/v1/refunds", key, url.Values{"payment_intent": {intent}, "amount": {amount}})
	return res, err
}

// decideLate decides all late payments and refunds.
func (f fake) decideLate(t *testing.T) {
	t.Helper()
	if err := f.server.DecideLate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// charges are what was charged, by payment.
type charges map[string]fakestripe.Charge

var (
	noCharge  = charges{}
	oneCharge = charges{"payment-7": {Payment: "payment-7", Count: 1, Amount: 1999, Currency: "rub"}}
)

// charged returns all charges, without the ids of their intents.
func (f fake) charged(t *testing.T) charges {
	t.Helper()
	found, err := f.server.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range found {
		c.ID = ""
		found[id] = c
	}
	return found
}

// receiver receives webhooks and verifies their signatures with Stripe's own library.
type receiver struct {
	url   string
	types chan string // of the events that it accepted
}

// newReceiver returns a receiver that rejects the first webhooks.
func newReceiver(t *testing.T, rejectFirst int64) receiver {
	t.Helper()
	r := receiver{types: make(chan string, 100)}
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		payload, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		event, err := webhook.ConstructEvent(payload, req.Header.Get("Stripe-Signature"), "whsec_1")
		if err != nil {
			t.Error(err)
		}
		if seen.Add(1) <= rejectFirst {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.types <- string(event.Type)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// next waits for the next event and returns its type.
func (r receiver) next(t *testing.T) string {
	t.Helper()
	select {
	case eventType := <-r.types:
		return eventType
	case <-time.After(testwait.Patience):
		t.Fatal("no webhook was received")
		return ""
	}
}

// received returns the types of all events received so far.
func (r receiver) received() []string {
	var types []string
	for len(r.types) > 0 {
		types = append(types, <-r.types)
	}
	return types
}

// connect connects to the database of a fakestripe.
func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
