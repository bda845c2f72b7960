package fakestripe

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// refund is a Refund in the Stripe format.
type refund struct {
	Object        string            `json:"object"`
	ID            string            `json:"id"`
	PaymentIntent any               `json:"payment_intent"` // the id, or the expanded intent
	Amount        int64             `json:"amount"`
	Currency      string            `json:"currency"`
	Status        string            `json:"status"`
	FailureReason string            `json:"failure_reason,omitempty"`
	Metadata      map[string]string `json:"metadata"`
	Created       int64             `json:"created"`
}

const selectRefunds = `
	SELECT r.id, r.intent, r.amount, i.currency, r.status, r.failure, r.metadata, r.created
	FROM fakestripe.refund r JOIN fakestripe.intent i ON i.id = r.intent `

func scanRefund(row pgx.CollectableRow) (refund, error) {
	f := refund{Object: "refund"}
	var created time.Time
	var intentID string
	err := row.Scan(&f.ID, &intentID, &f.Amount, &f.Currency, &f.Status, &f.FailureReason, &f.Metadata, &created)
	f.PaymentIntent, f.Created = intentID, created.Unix()
	return f, err
}

func loadRefund(ctx context.Context, tx pgx.Tx, id string) (refund, error) {
	rows, _ := tx.Query(ctx, selectRefunds+`WHERE r.id = $1`, id)
	return pgx.CollectExactlyOneRow(rows, scanRefund)
}

func (s *Server) createRefund(ctx context.Context, tx pgx.Tx, r *http.Request) (response, error) {
	i, err := lockIntent(ctx, tx, r.PostForm.Get("payment_intent"))
	if err != nil {
		return response{}, err
	}
	if i.LatestCharge == nil {
		return response{}, invalid("charge_not_refundable", "This PaymentIntent has no successful charge")
	}
	remaining := strconv.FormatInt(i.Amount-i.LatestCharge.AmountRefunded, 10)
	amount, err := strconv.ParseInt(cmp.Or(r.PostForm.Get("amount"), remaining), 10, 64) // by default, all of it
	switch {
	case err != nil || amount < 0 || amount == 0 && r.PostForm.Has("amount"):
		return response{}, invalid("parameter_invalid_integer", "Invalid positive integer")
	case i.LatestCharge.AmountRefunded == i.Amount:
		return response{}, invalid("charge_already_refunded", "The charge has already been refunded")
	case i.LatestCharge.AmountRefunded+amount > i.Amount:
		return response{}, invalid("", "Refund amount is greater than the unrefunded amount on the charge")
	}
	if err := checkUnits(amount, i.Currency); err != nil {
		return response{}, err
	}
	b := behaviours[i.PaymentMethod].ofRefund()
	f, err := s.insertRefund(ctx, tx, i, amount, b, metadataOf(r.PostForm))
	if err != nil {
		return response{}, err
	}
	if b.failsAfter {
		return internalError().response()
	}
	res, err := responseOf(http.StatusOK, f)
	res.drop = b.drops
	return res, err
}

// insertRefund inserts a refund and the events.
func (s *Server) insertRefund(
	ctx context.Context, tx pgx.Tx, i intent, amount int64, b behaviour, metadata map[string]string,
) (refund, error) {
	id, status := "re_"+rand.Text(), "succeeded"
	switch {
	case b.late:
		status = "pending"
	case b.declines != "":
		status = "failed"
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO fakestripe.refund (id, intent, amount, status, failure, metadata, decide_at)
		VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() + $8::interval END)`,
		id, i.ID, amount, status, b.declines, metadata, b.late, s.cfg.Late)
	if err != nil {
		return refund{}, err
	}
	f, err := loadRefund(ctx, tx, id)
	if err != nil {
		return refund{}, err
	}
	return f, s.addEvents(ctx, tx, b.duplicates, refundEvents(f)...)
}

// refundEvents returns the events about a new refund. Every refund begins as pending.
func refundEvents(f refund) []event {
	created := f
	created.Status, created.FailureReason = "pending", ""
	events := []event{{"refund.created", created}}
	switch f.Status {
	case "succeeded":
		events = append(events, event{"refund.updated", f})
	case "failed":
		events = append(events, event{"refund.failed", f})
	}
	return events
}

// decideRefund makes a late refund succeed.
func (s *Server) decideRefund(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `
		UPDATE fakestripe.refund SET status = 'succeeded', decide_at = NULL WHERE id = $1`, id)
	if err != nil {
		return err
	}
	f, err := loadRefund(ctx, tx, id)
	if err != nil {
		return err
	}
	return s.addEvents(ctx, tx, false, event{"refund.updated", f})
}

func (s *Server) listRefunds(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	since, err2 := strconv.ParseInt(cmp.Or(q.Get("created[gte]"), "0"), 10, 64)
	if err != nil || err2 != nil {
		return nil, invalid("parameter_invalid_integer", "limit and created[gte] must be numbers")
	}
	rows, _ := s.pool.Query(ctx, selectRefunds+`
		WHERE ($1 = '' OR r.intent = $1) AND r.created >= to_timestamp($4)
		  AND ($2 = '' OR r.number < (SELECT number FROM fakestripe.refund WHERE id = $2))
		ORDER BY r.number DESC LIMIT $3 + 1`, q.Get("payment_intent"), q.Get("starting_after"), limit, since)
	refunds, err := pgx.CollectRows(rows, scanRefund)
	if err == nil && hasExpand(q, "data.payment_intent.latest_charge") {
		err = s.expandIntents(ctx, refunds)
	}
	return listOf(r, "list", refunds, limit), err
}

// hasExpand reports whether a request asks for an object instead of the id.
func hasExpand(q url.Values, path string) bool {
	for name, values := range q {
		if strings.HasPrefix(name, "expand[") && slices.Contains(values, path) {
			return true
		}
	}
	return false
}

// expandIntents replaces the ids of refunded intents with the intents.
func (s *Server) expandIntents(ctx context.Context, refunds []refund) error {
	for n, f := range refunds {
		rows, _ := s.pool.Query(ctx, selectIntents+`WHERE id = $1`, f.PaymentIntent)
		i, err := pgx.CollectExactlyOneRow(rows, scanIntent)
		if err != nil {
			return err
		}
		refunds[n].PaymentIntent = i
	}
	return nil
}
