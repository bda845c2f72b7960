package fakestripe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const defaultLimit = 10

// intent is a PaymentIntent in the Stripe format.
type intent struct {
	Object           string            `json:"object"`
	ID               string            `json:"id"`
	Amount           int64             `json:"amount"`
	AmountReceived   int64             `json:"amount_received"`
	Currency         string            `json:"currency"`
	Status           string            `json:"status"`
	ClientSecret     string            `json:"client_secret"` // must not get into a log
	PaymentMethod    string            `json:"payment_method"`
	Metadata         map[string]string `json:"metadata"`
	Created          int64             `json:"created"`
	Livemode         bool              `json:"livemode"`
	LastPaymentError *failure          `json:"last_payment_error"`
	LatestCharge     *charge           `json:"latest_charge"`
}

// charge holds the refunded amount of an intent. Stripe sends only its id unless the caller
// expands it.
type charge struct {
	Object         string `json:"object"`
	ID             string `json:"id"`
	Amount         int64  `json:"amount"`
	AmountRefunded int64  `json:"amount_refunded"`
	// Only events about the charge itself have these.
	PaymentIntent string            `json:"payment_intent,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// selectIntents begins every intent query, and scanIntent reads its rows. The functions
// that collect the rows return Query's error.
const selectIntents = `
	SELECT id, amount, coalesce(received, amount), currency, token, status, failure, metadata, created, livemode,
	       (SELECT coalesce(sum(amount), 0)::bigint FROM fakestripe.refund r
	        WHERE r.intent = i.id AND r.status <> 'failed')
	FROM fakestripe.intent i `

func scanIntent(row pgx.CollectableRow) (intent, error) {
	i := intent{Object: "payment_intent"}
	var declineCode string
	var received, refunded int64
	var created time.Time
	err := row.Scan(&i.ID, &i.Amount, &received, &i.Currency, &i.PaymentMethod, &i.Status, &declineCode, &i.Metadata, &created, &i.Livemode, &refunded)
	i.ClientSecret = i.ID + "_secret_fake"
	i.Created = created.Unix()
	if declineCode != "" {
		i.LastPaymentError = decline(declineCode)
	}
	if i.Status == "succeeded" {
		i.AmountReceived = received
		i.LatestCharge = &charge{Object: "charge", ID: "ch" + i.ID[2:], Amount: i.Amount, AmountRefunded: refunded}
	}
	return i, err
}

func decline(code string) *failure {
	return &failure{
		status: http.StatusPaymentRequired, Type: "card_error", Code: "card_declined", DeclineCode: code,
		Message: "Your card was declined.",
	}
}

// lockIntent loads and locks an intent.
func lockIntent(ctx context.Context, tx pgx.Tx, id string) (intent, error) {
	rows, _ := tx.Query(ctx, selectIntents+`WHERE id = $1 FOR UPDATE`, id)
	i, err := pgx.CollectExactlyOneRow(rows, scanIntent)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, &failure{
			status: http.StatusNotFound, Type: "invalid_request_error", Code: "resource_missing",
			Message: "No such payment_intent: " + id,
		}
	}
	return i, err
}

func (s *Server) createIntent(ctx context.Context, tx pgx.Tx, r *http.Request) (response, error) {
	token := r.PostForm.Get("payment_method")
	b, known := behaviours[token]
	amount, err := strconv.ParseInt(r.PostForm.Get("amount"), 10, 64)
	switch {
	case !known:
		return response{}, invalid("resource_missing", "No such PaymentMethod: "+token)
	case err != nil || amount <= 0 || r.PostForm.Get("currency") == "":
		return response{}, invalid("parameter_invalid_integer", "amount and currency are required")
	case r.PostForm.Get("confirm") != "true":
		return response{}, invalid("parameter_missing", "fakestripe needs confirm=true")
	}
	if err := checkCharge(amount, r.PostForm.Get("currency")); err != nil {
		return response{}, err
	}
	id := "pi_" + rand.Text()
	if err := s.insertIntent(ctx, tx, id, amount, b, r.PostForm); err != nil {
		return response{}, err
	}
	i, err := lockIntent(ctx, tx, id)
	if err != nil {
		return response{}, err
	}
	return chargeResponse(i, b)
}

// insertIntent inserts an intent and the events.
func (s *Server) insertIntent(
	ctx context.Context, tx pgx.Tx, id string, amount int64, b behaviour, form url.Values,
) error {
	status, declineCode := "succeeded", ""
	switch {
	case b.late:
		status = "processing"
	case b.requiresAction:
		status = "requires_action"
	case b.declines != "":
		status, declineCode = "requires_payment_method", b.declines
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO fakestripe.intent (id, amount, currency, token, status, failure, metadata, decide_at, livemode)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8 THEN now() + $9::interval END, $10)`,
		id, amount, form.Get("currency"), form.Get("payment_method"), status, declineCode, metadataOf(form),
		b.late, s.cfg.Late, s.live())
	if err != nil {
		return err
	}
	if b.duplicates { // one more event, to test the order
		return s.addIntentEvents(ctx, tx, id, "payment_intent.created", "payment_intent.processing", intentEvents[status])
	}
	return s.addIntentEvents(ctx, tx, id, "payment_intent.created", intentEvents[status])
}

// intentEvents maps statuses to event types.
var intentEvents = map[string]string{
	"succeeded":               "payment_intent.succeeded",
	"processing":              "payment_intent.processing",
	"requires_action":         "payment_intent.requires_action",
	"requires_payment_method": "payment_intent.payment_failed",
	"canceled":                "payment_intent.canceled",
}

// chargeResponse returns the first response to a charge, which may be wrong.
func chargeResponse(i intent, b behaviour) (response, error) {
	if b.failsAfter {
		return internalError().response()
	}
	if i.LastPaymentError != nil {
		declined := *i.LastPaymentError
		declined.Intent = &i
		return declined.response()
	}
	res, err := responseOf(http.StatusOK, i)
	res.drop = b.drops
	return res, err
}

func (s *Server) cancelIntent(ctx context.Context, tx pgx.Tx, r *http.Request) (response, error) {
	i, err := lockIntent(ctx, tx, r.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if !strings.HasPrefix(i.Status, "requires_") {
		return response{}, invalid("payment_intent_unexpected_state",
			"You cannot cancel this PaymentIntent because it has a status of "+i.Status)
	}
	if err := s.decideIntent(ctx, tx, i.ID, "canceled", ""); err != nil {
		return response{}, err
	}
	if i, err = lockIntent(ctx, tx, i.ID); err != nil {
		return response{}, err
	}
	return responseOf(http.StatusOK, i)
}

// decideIntent sets the final status of an intent.
func (s *Server) decideIntent(ctx context.Context, tx pgx.Tx, id, status, declineCode string) error {
	_, err := tx.Exec(ctx, `
		UPDATE fakestripe.intent SET status = $2, failure = coalesce(nullif($3, ''), failure), decide_at = NULL
		WHERE id = $1`, id, status, declineCode)
	if err != nil {
		return err
	}
	return s.addIntentEvents(ctx, tx, id, intentEvents[status])
}

// addIntentEvents adds events that contain the intent.
func (s *Server) addIntentEvents(ctx context.Context, tx pgx.Tx, id string, types ...string) error {
	i, err := lockIntent(ctx, tx, id)
	if err != nil {
		return err
	}
	var events []event
	for _, name := range types {
		events = append(events, event{name, i.asOf(name)})
	}
	return s.addEvents(ctx, tx, behaviours[i.PaymentMethod].duplicates, events...)
}

// asOf returns the intent at the time of an event.
func (i intent) asOf(name string) intent {
	if name == "payment_intent.processing" {
		i.Status, i.AmountReceived, i.LatestCharge = "processing", 0, nil
	}
	return i
}

func (s *Server) getIntent(ctx context.Context, r *http.Request) (any, error) {
	var i intent
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		i, err = lockIntent(ctx, tx, r.PathValue("id"))
		return err
	})
	return i, err
}

// loadIntent loads the intent with an id.
func (s *Server) loadIntent(ctx context.Context, id any) (intent, error) {
	rows, _ := s.pool.Query(ctx, selectIntents+`WHERE id = $1`, id)
	return pgx.CollectExactlyOneRow(rows, scanIntent)
}

func (s *Server) listIntents(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	since, err2 := strconv.ParseInt(cmp.Or(q.Get("created[gte]"), "0"), 10, 64)
	if err != nil || err2 != nil {
		return nil, invalid("parameter_invalid_integer", "limit and created[gte] must be numbers")
	}
	rows, _ := s.pool.Query(ctx, selectIntents+`
		WHERE created >= to_timestamp($1)
		  AND ($2 = '' OR number < (SELECT number FROM fakestripe.intent WHERE id = $2))
		ORDER BY number DESC LIMIT $3 + 1`, since, q.Get("starting_after"), limit)
	intents, err := pgx.CollectRows(rows, scanIntent)
	return listOf(r, "list", intents, limit), err
}

// searchQuery is the supported part of the Stripe query language.
var searchQuery = regexp.MustCompile(`^metadata\['(\w+)'\]:'([\w-]*)'$`)

func (s *Server) searchIntents(ctx context.Context, r *http.Request) (any, error) {
	query := searchQuery.FindStringSubmatch(r.URL.Query().Get("query"))
	if query == nil {
		return nil, invalid("parameter_invalid_string", "fakestripe supports metadata['name']:'value' only")
	}
	rows, _ := s.pool.Query(ctx, selectIntents+`
		WHERE metadata @> jsonb_build_object($1::text, $2::text) AND created <= now() - $3::interval
		ORDER BY number DESC LIMIT $4`, query[1], query[2], s.cfg.SearchLag, defaultLimit)
	intents, err := pgx.CollectRows(rows, scanIntent)
	return listOf(r, "search_result", intents, defaultLimit), err
}
