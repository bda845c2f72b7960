package fakestripe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// disputeFee is the cost of each withdrawal, in the smallest unit of the currency.
	disputeFee = 1500
	// answerWithin is the time for an answer to a new dispute.
	answerWithin = 10 * 24 * time.Hour
	// withdrawalRate and returnRate are how many of the smallest units of the account's
	// currency make one of the charge's, on different days.
	withdrawalRate, returnRate = 3, 2
)

// The steps of a dispute that tests name. An inquiry withdraws no money. A dispute is
// prevented by a rule of the shop: the customer gets the money, and the shop pays no fee.
const (
	Inquiry       = "warning_needs_response"
	InquiryClosed = "warning_closed"
	NeedsResponse = "needs_response"
	UnderReview   = "under_review"
	Won           = "won"
	Lost          = "lost"
	Prevented     = "prevented"
)

// dispute is a Dispute in the Stripe format.
type dispute struct {
	Object              string               `json:"object"`
	ID                  string               `json:"id"`
	Amount              int64                `json:"amount"`
	Currency            string               `json:"currency"`
	Charge              string               `json:"charge"`
	PaymentIntent       any                  `json:"payment_intent"` // the id, or the expanded intent
	Reason              string               `json:"reason"`
	Status              string               `json:"status"`
	EvidenceDetails     evidence             `json:"evidence_details"`
	BalanceTransactions []balanceTransaction `json:"balance_transactions"`
	Method              method               `json:"payment_method_details"`
	Livemode            bool                 `json:"livemode"`
	Metadata            map[string]string    `json:"metadata"`
	Created             int64                `json:"created"`
}

// method holds the kind of case that the card network made.
type method struct {
	Type string `json:"type"`
	Card struct {
		CaseType string `json:"case_type"`
	} `json:"card"`
}

type evidence struct {
	DueBy int64 `json:"due_by"`
}

// balanceTransaction is money that a dispute moved: a withdrawal is negative.
type balanceTransaction struct {
	Object   string `json:"object"`
	ID       string `json:"id"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Fee      int64  `json:"fee"`
	Net      int64  `json:"net"`
	Type     string `json:"type"`
}

const selectDisputes = `
	SELECT d.id, d.intent, d.amount, i.currency, d.reason, d.status, d.due_by, d.transactions, i.livemode, d.created
	FROM fakestripe.dispute d JOIN fakestripe.intent i ON i.id = d.intent `

func scanDispute(row pgx.CollectableRow) (dispute, error) {
	d := dispute{Object: "dispute", Metadata: map[string]string{}}
	var intentID string
	var due, created time.Time
	err := row.Scan(&d.ID, &intentID, &d.Amount, &d.Currency, &d.Reason, &d.Status, &due, &d.BalanceTransactions, &d.Livemode, &created)
	d.PaymentIntent, d.Charge = intentID, "ch"+strings.TrimPrefix(intentID, "pi")
	d.EvidenceDetails.DueBy, d.Created = due.Unix(), created.Unix()
	d.Method.Type, d.Method.Card.CaseType = "card", "chargeback"
	if d.Status == Prevented {
		d.Method.Card.CaseType = "resolution"
	}
	return d, err
}

// withdrawn reports whether the dispute keeps money away from the account.
func (d dispute) withdrawn() bool {
	n := len(d.BalanceTransactions)
	return n > 0 && d.BalanceTransactions[n-1].Amount < 0
}

// move adds a balance transaction: the amount leaves the account, or returns. It is in the
// currency of the account.
func (d *dispute) move(settlement string, amount, rate, fee int64) {
	currency := cmp.Or(settlement, d.Currency)
	if currency != d.Currency {
		amount *= rate
	}
	d.BalanceTransactions = append(d.BalanceTransactions, balanceTransaction{
		Object: "balance_transaction", ID: "txn_" + rand.Text(), Type: "adjustment",
		Amount: amount, Currency: currency, Fee: fee, Net: amount - fee,
	})
}

// step sets the status, moves the money, and returns the types of the events.
func (d *dispute) step(status, settlement string) []string {
	d.Status = status
	events := []string{"charge.dispute.updated"}
	if slices.Contains([]string{Won, Lost, InquiryClosed, Prevented}, status) {
		events[0] = "charge.dispute.closed"
	}
	switch withdrawn := d.withdrawn(); {
	case status == Won && withdrawn:
		d.move(settlement, d.Amount, returnRate, 0)
		events = append(events, "charge.dispute.funds_reinstated")
	case status == Prevented:
		d.move(settlement, -d.Amount, withdrawalRate, 0)
	case (status == NeedsResponse || status == Lost) && !withdrawn:
		d.move(settlement, -d.Amount, withdrawalRate, disputeFee)
		events = append(events, "charge.dispute.funds_withdrawn")
	}
	return events
}

// OpenDispute opens a dispute about an amount of an intent, as a bank does, with the
// status [Inquiry], [NeedsResponse] or [Prevented]. It returns the id.
func (s *Server) OpenDispute(ctx context.Context, intentID string, amount int64, status string) (string, error) {
	id := "dp_" + rand.Text()
	return id, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO fakestripe.dispute (id, intent, amount, reason, status, due_by)
			VALUES ($1, $2, $3, 'fraudulent', $4, now() + $5::interval)`, id, intentID, amount, status, answerWithin)
		if err != nil {
			return err
		}
		d, err := loadDispute(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := s.addEvents(ctx, tx, false, event{"charge.dispute.created", d}); err != nil || status == Inquiry {
			return err
		}
		d.step(status, s.cfg.Settlement)
		return s.saveDispute(ctx, tx, d, "charge.dispute.funds_withdrawn")
	})
}

// StepDispute moves a dispute to the next status. Money moves as it does at Stripe: back when
// the dispute is won, and away when an inquiry becomes a dispute or a late loss.
func (s *Server) StepDispute(ctx context.Context, id, status string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		d, err := loadDispute(ctx, tx, id)
		if err != nil {
			return err
		}
		return s.saveDispute(ctx, tx, d, d.step(status, s.cfg.Settlement)...)
	})
}

func loadDispute(ctx context.Context, tx pgx.Tx, id string) (dispute, error) {
	rows, _ := tx.Query(ctx, selectDisputes+`WHERE d.id = $1 FOR UPDATE OF d`, id)
	return pgx.CollectExactlyOneRow(rows, scanDispute)
}

func (s *Server) saveDispute(ctx context.Context, tx pgx.Tx, d dispute, eventTypes ...string) error {
	_, err := tx.Exec(ctx, `UPDATE fakestripe.dispute SET status = $2, transactions = $3 WHERE id = $1`,
		d.ID, d.Status, d.BalanceTransactions)
	if err != nil {
		return err
	}
	events := make([]event, len(eventTypes))
	for i, name := range eventTypes {
		events[i] = event{name, d}
	}
	return s.addEvents(ctx, tx, false, events...)
}

// checkDisputes refuses a refund of a charge that a bank has charged back.
func checkDisputes(ctx context.Context, tx pgx.Tx, intentID string) error {
	var disputed bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM fakestripe.dispute WHERE intent = $1
		AND status IN ('needs_response', 'under_review', 'lost', 'prevented'))`, intentID).Scan(&disputed)
	if err == nil && disputed {
		err = invalid("charge_disputed", "This charge has been charged back")
	}
	return err
}

func (s *Server) listDisputes(ctx context.Context, r *http.Request) (any, error) {
	q, err := listQueryOf(r)
	if err != nil {
		return nil, err
	}
	rows, _ := s.pool.Query(ctx, selectDisputes+`
		WHERE ($1 = '' OR d.intent = $1) AND d.created >= to_timestamp($4) AND d.created < to_timestamp($5) + interval '1 s'
		  AND ($2 = '' OR d.number < (SELECT number FROM fakestripe.dispute WHERE id = $2))
		ORDER BY d.number DESC LIMIT $3 + 1`, q.intent, q.after, q.limit, q.since, q.until)
	disputes, err := pgx.CollectRows(rows, scanDispute)
	if err == nil && hasExpand(r.URL.Query(), "data.payment_intent") {
		for n := range disputes {
			if disputes[n].PaymentIntent, err = s.loadIntent(ctx, disputes[n].PaymentIntent); err != nil {
				return nil, err
			}
		}
	}
	return listOf(r, "list", disputes, q.limit), err
}

// listQuery holds the filters of the lists of refunds and disputes.
type listQuery struct {
	intent, after string
	limit         int
	since, until  int64
}

func listQueryOf(r *http.Request) (listQuery, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	since, err2 := strconv.ParseInt(cmp.Or(q.Get("created[gte]"), "0"), 10, 64)
	until, err3 := strconv.ParseInt(cmp.Or(q.Get("created[lte]"), "9999999999"), 10, 64)
	if errors.Join(err, err2, err3) != nil {
		return listQuery{}, invalid("parameter_invalid_integer", "limit and created must be numbers")
	}
	return listQuery{q.Get("payment_intent"), q.Get("starting_after"), limit, since, until}, nil
}
