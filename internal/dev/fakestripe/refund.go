package fakestripe

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// refund is a Refund in Stripe's format.
type refund struct {
	Object        string            `json:"object"`
	ID            string            `json:"id"`
	PaymentIntent string            `json:"payment_intent"`
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
	err := row.Scan(&f.ID, &f.PaymentIntent, &f.Amount, &f.Currency, &f.Status, &f.FailureReason, &f.Metadata, &created)
	f.Created = created.Unix()
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
	amount, err := strconv.ParseInt(r.PostForm.Get("amount"), 10, 64)
	switch {
	case err != nil || amount <= 0:
		return response{}, invalid("parameter_invalid_integer", "amount is required")
	case i.LatestCharge == nil:
		return response{}, invalid("charge_not_refundable", "This PaymentIntent has no successful charge")
	case i.LatestCharge.AmountRefunded == i.Amount:
		return response{}, invalid("charge_already_refunded", "The charge has already been refunded")
	case i.LatestCharge.AmountRefunded+amount > i.Amount:
		return response{}, invalid("", "Refund amount is greater than the unrefunded amount on the charge")
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

// insertRefund inserts a refund and its events.
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
	if err != nil {
		return nil, invalid("parameter_invalid_integer", "limit must be a number")
	}
	rows, _ := s.pool.Query(ctx, selectRefunds+`
		WHERE r.intent = $1
		  AND ($2 = '' OR r.number < (SELECT number FROM fakestripe.refund WHERE id = $2))
		ORDER BY r.number DESC LIMIT $3 + 1`, q.Get("payment_intent"), q.Get("starting_after"), limit)
	refunds, err := pgx.CollectRows(rows, scanRefund)
	return listOf(r, "list", refunds, limit), err
}
