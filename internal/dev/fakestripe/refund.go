package fakestripe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
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
	Reason        *string           `json:"reason"`
	Metadata      map[string]string `json:"metadata"`
	Created       int64             `json:"created"`
}

const selectRefunds = `
	SELECT r.id, r.intent, r.amount, i.currency, r.status, r.failure, r.reason, r.metadata, r.created
	FROM fakestripe.refund r JOIN fakestripe.intent i ON i.id = r.intent `

func scanRefund(row pgx.CollectableRow) (refund, error) {
	f := refund{Object: "refund"}
	var created time.Time
	var intentID string
	err := row.Scan(&f.ID, &intentID, &f.Amount, &f.Currency, &f.Status, &f.FailureReason, &f.Reason, &f.Metadata, &created)
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
		return response{}, noCharge()
	}
	remaining := strconv.FormatInt(i.Amount-i.LatestCharge.AmountRefunded, 10)
	amount, err := strconv.ParseInt(cmp.Or(r.PostForm.Get("amount"), remaining), 10, 64) // by default, all of it
	if err != nil || amount < 0 || amount == 0 && r.PostForm.Has("amount") {
		return response{}, invalid("parameter_invalid_integer", "Invalid positive integer")
	}
	if err := checkRefund(ctx, tx, i, amount); err != nil {
		return response{}, err
	}
	b := behaviours[i.PaymentMethod].ofRefund()
	f, err := s.insertRefund(ctx, tx, i, amount, b, metadataOf(r.PostForm), r.PostForm.Get("reason"))
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

// checkRefund refuses a refund that Stripe would not make.
func checkRefund(ctx context.Context, tx pgx.Tx, i intent, amount int64) error {
	switch {
	case i.LatestCharge == nil:
		return noCharge()
	case i.LatestCharge.AmountRefunded == i.Amount:
		return invalid("charge_already_refunded", "The charge has already been refunded")
	case i.LatestCharge.AmountRefunded+amount > i.Amount:
		tooMuch := invalid("", "Refund amount is greater than the unrefunded amount on the charge")
		tooMuch.Param = "amount"
		return tooMuch
	}
	if err := checkUnits(amount, i.Currency); err != nil {
		return err
	}
	return checkDisputes(ctx, tx, i.ID)
}

func noCharge() error {
	return invalid("charge_not_refundable", "This PaymentIntent has no successful charge")
}

// insertRefund inserts a refund and the events.
func (s *Server) insertRefund(
	ctx context.Context, tx pgx.Tx, i intent, amount int64, b behaviour, metadata map[string]string, reason string,
) (refund, error) {
	id, status := "re_"+rand.Text(), "succeeded"
	switch {
	case b.late:
		status = "pending"
	case b.declines != "":
		status = "failed"
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO fakestripe.refund (id, intent, amount, status, failure, metadata, decide_at, reason)
		VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() + $8::interval END, nullif($9, ''))`,
		id, i.ID, amount, status, b.declines, metadata, b.late, s.cfg.Late, reason)
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
	q, err := listQueryOf(r)
	if err != nil {
		return nil, err
	}
	rows, _ := s.pool.Query(ctx, selectRefunds+`
		WHERE ($1 = '' OR r.intent = $1) AND r.created >= to_timestamp($4) AND r.created < to_timestamp($5) + interval '1 s'
		  AND ($2 = '' OR r.number < (SELECT number FROM fakestripe.refund WHERE id = $2))
		ORDER BY r.number DESC LIMIT $3 + 1`, q.intent, q.after, q.limit, q.since, q.until)
	refunds, err := pgx.CollectRows(rows, scanRefund)
	if query := r.URL.Query(); err == nil && (hasExpand(query, "data.payment_intent") || hasExpand(query, "data.payment_intent.latest_charge")) {
		err = s.expandIntents(ctx, refunds)
	}
	return listOf(r, "list", refunds, q.limit), err
}

func (s *Server) getRefund(ctx context.Context, r *http.Request) (any, error) {
	rows, _ := s.pool.Query(ctx, selectRefunds+`WHERE r.id = $1`, r.PathValue("id"))
	f, err := pgx.CollectExactlyOneRow(rows, scanRefund)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &failure{
			status: http.StatusNotFound, Type: "invalid_request_error", Code: "resource_missing", Message: "No such refund",
		}
	}
	return f, err
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
		i, err := s.loadIntent(ctx, f.PaymentIntent)
		if err != nil {
			return err
		}
		refunds[n].PaymentIntent = i
	}
	return nil
}
