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

// intent is a PaymentIntent as it is sent.
type intent struct {
	Object           string            `json:"object"`
	ID               string            `json:"id"`
	Amount           int64             `json:"amount"`
	AmountReceived   int64             `json:"amount_received"`
	Currency         string            `json:"currency"`
	Status           string            `json:"status"`
	ClientSecret     string            `json:"client_secret"` // for who must not show it
	PaymentMethod    string            `json:"payment_method"`
	Metadata         map[string]string `json:"metadata"`
	Created          int64             `json:"created"`
	LastPaymentError *failure          `json:"last_payment_error"`
	LatestCharge     *charge           `json:"latest_charge"`
}

// charge is the part of an intent that knows what was refunded. Stripe sends its id only, unless asked for more.
type charge struct {
	Object         string `json:"object"`
	ID             string `json:"id"`
	Amount         int64  `json:"amount"`
	AmountRefunded int64  `json:"amount_refunded"`
}

// selectIntents is the beginning of all reading; scanIntent reads its rows. An error of Query is told by the function that
// collects them.
const selectIntents = `
	SELECT id, amount, currency, token, status, failure, metadata, created,
	       (SELECT coalesce(sum(amount), 0)::bigint FROM psp_double.refund r WHERE r.intent = i.id AND r.status <> 'failed')
	FROM psp_double.intent i `

func scanIntent(row pgx.CollectableRow) (intent, error) {
	i := intent{Object: "payment_intent"}
	var declined string
	var refunded int64
	var created time.Time
	err := row.Scan(&i.ID, &i.Amount, &i.Currency, &i.PaymentMethod, &i.Status, &declined, &i.Metadata, &created, &refunded)
	i.ClientSecret = i.ID + "_secret_double"
	i.Created = created.Unix()
	if declined != "" {
		i.LastPaymentError = decline(declined)
	}
	if i.Status == "succeeded" {
		i.AmountReceived = i.Amount
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

// oneIntent reads and locks an intent.
func oneIntent(ctx context.Context, tx pgx.Tx, id string) (intent, error) {
	rows, _ := tx.Query(ctx, selectIntents+`WHERE id = $1 FOR UPDATE`, id)
	i, err := pgx.CollectExactlyOneRow(rows, scanIntent)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, &failure{status: http.StatusNotFound, Type: "invalid_request_error", Code: "resource_missing", Message: "No such payment_intent: " + id}
	}
	return i, err
}

func (s *Server) createIntent(ctx context.Context, tx pgx.Tx, r *http.Request) (answer, error) {
	token := r.PostForm.Get("payment_method")
	b, known := behaviours[token]
	amount, err := strconv.ParseInt(r.PostForm.Get("amount"), 10, 64)
	switch {
	case !known:
		return answer{}, invalid("resource_missing", "No such PaymentMethod: "+token)
	case err != nil || amount <= 0 || r.PostForm.Get("currency") == "":
		return answer{}, invalid("parameter_invalid_integer", "amount and currency are wanted")
	case r.PostForm.Get("confirm") != "true":
		return answer{}, invalid("parameter_missing", "The double wants confirm=true")
	}
	id := "pi_" + rand.Text()
	if err := s.insertIntent(ctx, tx, id, amount, b, r.PostForm); err != nil {
		return answer{}, err
	}
	i, err := oneIntent(ctx, tx, id)
	if err != nil {
		return answer{}, err
	}
	return answerAbout(i, b)
}

// insertIntent charges, and notes the events that tell of it.
func (s *Server) insertIntent(ctx context.Context, tx pgx.Tx, id string, amount int64, b behaviour, form url.Values) error {
	status, failed := "succeeded", ""
	switch {
	case b.late:
		status = "processing"
	case b.waits:
		status = "requires_action"
	case b.declines != "":
		status, failed = "requires_payment_method", b.declines
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO psp_double.intent (id, amount, currency, token, status, failure, metadata, decides)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8 THEN now() + $9::interval END)`,
		id, amount, form.Get("currency"), form.Get("payment_method"), status, failed, metadataOf(form), b.late, s.cfg.Late)
	if err != nil {
		return err
	}
	if b.twice { // there is more to mix up
		return s.tellIntent(ctx, tx, id, "payment_intent.created", "payment_intent.processing", intentEvents[status])
	}
	return s.tellIntent(ctx, tx, id, "payment_intent.created", intentEvents[status])
}

// intentEvents are the events that tell of a status.
var intentEvents = map[string]string{
	"succeeded":               "payment_intent.succeeded",
	"processing":              "payment_intent.processing",
	"requires_action":         "payment_intent.requires_action",
	"requires_payment_method": "payment_intent.payment_failed",
	"canceled":                "payment_intent.canceled",
}

// answerAbout is the first answer to a charge, be it the truth or not.
func answerAbout(i intent, b behaviour) (answer, error) {
	if b.failsAfter {
		return (&failure{status: http.StatusInternalServerError, Type: "api_error", Message: "An unknown error occurred"}).answer()
	}
	if i.LastPaymentError != nil {
		declined := *i.LastPaymentError
		declined.Intent = &i
		return declined.answer()
	}
	a, err := answerOf(http.StatusOK, i)
	a.drop = b.drops
	return a, err
}

func (s *Server) cancelIntent(ctx context.Context, tx pgx.Tx, r *http.Request) (answer, error) {
	i, err := oneIntent(ctx, tx, r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	if !strings.HasPrefix(i.Status, "requires_") {
		return answer{}, invalid("payment_intent_unexpected_state", "You cannot cancel this PaymentIntent because it has a status of "+i.Status)
	}
	if err := s.decideIntent(ctx, tx, i.ID, "canceled", ""); err != nil {
		return answer{}, err
	}
	if i, err = oneIntent(ctx, tx, i.ID); err != nil {
		return answer{}, err
	}
	return answerOf(http.StatusOK, i)
}

// decideIntent gives an intent its last status.
func (s *Server) decideIntent(ctx context.Context, tx pgx.Tx, id, status, failed string) error {
	_, err := tx.Exec(ctx, `
		UPDATE psp_double.intent SET status = $2, failure = coalesce(nullif($3, ''), failure), decides = NULL
		WHERE id = $1`, id, status, failed)
	if err != nil {
		return err
	}
	return s.tellIntent(ctx, tx, id, intentEvents[status])
}

// tellIntent notes events that carry the intent.
func (s *Server) tellIntent(ctx context.Context, tx pgx.Tx, id string, types ...string) error {
	i, err := oneIntent(ctx, tx, id)
	if err != nil {
		return err
	}
	var events []event
	for _, name := range types {
		events = append(events, event{name, i.when(name)})
	}
	return s.tell(ctx, tx, behaviours[i.PaymentMethod].twice, events...)
}

// when is the intent as it was when an event happened.
func (i intent) when(name string) intent {
	if name == "payment_intent.processing" {
		i.Status, i.AmountReceived, i.LatestCharge = "processing", 0, nil
	}
	return i
}

func (s *Server) getIntent(ctx context.Context, r *http.Request) (any, error) {
	var i intent
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		i, err = oneIntent(ctx, tx, r.PathValue("id"))
		return err
	})
	return i, err
}

func (s *Server) listIntents(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	since, err2 := strconv.ParseInt(cmp.Or(q.Get("created[gte]"), "0"), 10, 64)
	if err != nil || err2 != nil {
		return nil, invalid("parameter_invalid_integer", "limit and created[gte] are numbers")
	}
	rows, _ := s.pool.Query(ctx, selectIntents+`
		WHERE created >= to_timestamp($1)
		  AND ($2 = '' OR number < (SELECT number FROM psp_double.intent WHERE id = $2))
		ORDER BY number DESC LIMIT $3 + 1`, since, q.Get("starting_after"), limit)
	intents, err := pgx.CollectRows(rows, scanIntent)
	return listOf(r, "list", intents, limit), err
}

// searchQuery is all that the double understands of Stripe's query language.
var searchQuery = regexp.MustCompile(`^metadata\['(\w+)'\]:'(\w*)'$`)

func (s *Server) searchIntents(ctx context.Context, r *http.Request) (any, error) {
	query := searchQuery.FindStringSubmatch(r.URL.Query().Get("query"))
	if query == nil {
		return nil, invalid("parameter_invalid_string", "The double searches metadata['name']:'value' only")
	}
	rows, _ := s.pool.Query(ctx, selectIntents+`
		WHERE metadata @> jsonb_build_object($1::text, $2::text) AND created <= now() - $3::interval
		ORDER BY number DESC LIMIT $4`, query[1], query[2], s.cfg.SearchLag, defaultLimit)
	intents, err := pgx.CollectRows(rows, scanIntent)
	return listOf(r, "search_result", intents, defaultLimit), err
}
