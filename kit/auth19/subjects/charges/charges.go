// Package charges is the business that every subject in Go shares. A server adds the
// implementation under test, as its documentation says.
package charges

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Routes are the paths under test.
var Routes = []string{"/charges", "/refunds", "/charges/quiet"}

// ErrTold is the failure that a request asked for.
var ErrTold = errors.New("told to fail")

// Body is the body of a request.
type Body struct {
	Amount int64   `json:"amount"`
	Note   *string `json:"note"`
	Payer  string  `json:"payer"`
}

// Row is a charge.
type Row struct {
	ID     int64   `json:"id"`
	Amount int64   `json:"amount"`
	Note   *string `json:"note,omitempty"`
}

// Response is the response to a charge.
type Response struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// CustomerOf returns the customer of a request token, or "".
func CustomerOf(authorization string) string {
	return map[string]string{"Bearer alice": "alice", "Bearer bob": "bob"}[authorization]
}

// Hooks say where a request waits and fails.
type Hooks struct{ DelayBefore, DelayAfter, Fail string }

// HooksOf reads the hooks in request headers.
func HooksOf(header func(string) string) Hooks {
	return Hooks{header("X-Delay-Before"), header("X-Delay-After"), header("X-Fail")}
}

// Run calls effect, waits and fails around it as the hooks tell.
func (h Hooks) Run(effect func() (Response, error)) (Response, error) {
	wait(h.DelayBefore)
	if h.Fail == "before" {
		return Response{}, ErrTold
	}
	resp, err := effect()
	wait(h.DelayAfter)
	if err == nil && h.Fail == "after" {
		return Response{}, ErrTold
	}
	return resp, err
}

func wait(milliseconds string) {
	n, err := strconv.Atoi(milliseconds)
	if err == nil {
		time.Sleep(time.Duration(n) * time.Millisecond)
	}
}

// Charge inserts the row, unless the amount exceeds the payer limit. queryRow is that of a
// pool or of a transaction.
func Charge[R interface{ Scan(dest ...any) error }](
	ctx context.Context, queryRow func(ctx context.Context, sql string, args ...any) R, kind, customer string, body Body,
) (Response, error) {
	var limit int64
	err := queryRow(ctx, "SELECT coalesce((SELECT max FROM payer WHERE id = $1), 10000)", body.Payer).Scan(&limit)
	if err != nil {
		return Response{}, err
	}
	if body.Amount > limit {
		return Response{http.StatusPaymentRequired, json.RawMessage(`{"error":"limit exceeded"}`)}, nil
	}
	row := Row{Amount: body.Amount, Note: body.Note}
	err = queryRow(ctx, "INSERT INTO charge (kind, customer, amount, note) VALUES ($1, $2, $3, $4) RETURNING id",
		kind, customer, body.Amount, body.Note).Scan(&row.ID)
	if err != nil || kind == "/charges/quiet" {
		return Response{Status: http.StatusNoContent}, err
	}
	text, err := json.Marshal(row)
	return Response{http.StatusCreated, text}, err
}

// List returns the charges.
func List(ctx context.Context, pool *pgxpool.Pool) ([]Row, error) {
	rows, err := pool.Query(ctx, "SELECT id, amount, NULL FROM charge ORDER BY id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// SetLimit sets a payer limit.
func SetLimit(ctx context.Context, pool *pgxpool.Pool, payer string, limit int64) error {
	_, err := pool.Exec(ctx, "INSERT INTO payer VALUES ($1, $2)", payer, limit)
	return err
}
