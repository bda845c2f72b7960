package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/payment"
)

// position is where a pass of reconciliation is. It is stored as JSON between two steps.
type position struct {
	Check string `json:"check"`
	// The key of the last row that was compared.
	ID       int64  `json:"id,omitzero"`
	Text     string `json:"text,omitzero"`
	Currency string `json:"currency,omitzero"`
	// Account is a customer whose entries have been read in part.
	Account *account `json:"account,omitzero"`
}

// comparison is the result of one step.
type comparison struct {
	found []payment.Mismatch
	next  position
	// more reports that the table of the check has more rows.
	more bool
}

// add adds a mismatch, unless the detail is empty.
func (c *comparison) add(resource, detail string) {
	if detail != "" {
		c.found = append(c.found, payment.Mismatch{Resource: resource, Detail: detail})
	}
}

// checks are the tables that a pass goes through, in this order.
var checks = []struct {
	name    string
	compare func(ctx context.Context, t *tx, from position, limit int) (comparison, error)
}{
	{"orders", compareOrders},
	{"payments", comparePayments},
	{"products", compareProducts},
	{"entries", compareEntries},
	{"balances", compareBalances},
}

// Compare compares the next of our rows, in one transaction; see
// [payment.ReconciliationStore].
func (db *DB) Compare(ctx context.Context, from string, limit int) (found []payment.Mismatch, next string, err error) {
	at, number := parsePosition(from)
	var c comparison
	err = db.read(ctx, func(ctx context.Context, t *tx) (err error) {
		c, err = checks[number].compare(ctx, t, at, limit)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("compare %s: %w", checks[number].name, err)
	}
	switch {
	case c.more:
		c.next.Check = checks[number].name
	case number+1 < len(checks):
		c.next = position{Check: checks[number+1].name}
	default:
		return c.found, "", nil
	}
	encoded, err := json.Marshal(c.next)
	return c.found, string(encoded), err
}

// parsePosition returns a position and the number of its check. What it cannot read, such
// as the position of another version of this service, is the beginning.
func parsePosition(from string) (at position, number int) {
	if err := json.Unmarshal([]byte(from), &at); err != nil {
		return position{}, 0
	}
	for i, check := range checks {
		if check.name == at.Check {
			return at, i
		}
	}
	return position{}, 0
}

// compareRows runs the query of a check and passes each row on. add returns the key of the
// row, behind which the next step goes on.
func compareRows[R any](
	ctx context.Context, t *tx, limit int,
	query func(q *dbsqlc.Queries) ([]R, error), add func(c *comparison, row R) position,
) (c comparison, err error) {
	var rows []R
	err = t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = query(q)
		return err
	})
	for _, row := range rows {
		c.next = add(&c, row)
	}
	c.more = len(rows) == limit
	return c, err
}

func compareOrders(ctx context.Context, t *tx, from position, limit int) (comparison, error) {
	return compareRows(ctx, t, limit, func(q *dbsqlc.Queries) ([]dbsqlc.CompareOrdersRow, error) {
		return q.CompareOrders(ctx, dbsqlc.CompareOrdersParams{AfterID: from.ID, Page: int32(limit)})
	}, func(c *comparison, row dbsqlc.CompareOrdersRow) position {
		c.add(fmt.Sprintf("order/%d", row.ID), row.Detail)
		return position{ID: row.ID}
	})
}

func comparePayments(ctx context.Context, t *tx, from position, limit int) (comparison, error) {
	return compareRows(ctx, t, limit, func(q *dbsqlc.Queries) ([]dbsqlc.ComparePaymentsRow, error) {
		return q.ComparePayments(ctx, dbsqlc.ComparePaymentsParams{AfterID: from.ID, Page: int32(limit)})
	}, func(c *comparison, row dbsqlc.ComparePaymentsRow) position {
		for _, detail := range row.Details {
			c.add(fmt.Sprintf("payment/%d", row.ID), detail)
		}
		return position{ID: row.ID}
	})
}

func compareProducts(ctx context.Context, t *tx, from position, limit int) (comparison, error) {
	return compareRows(ctx, t, limit, func(q *dbsqlc.Queries) ([]dbsqlc.CompareProductsRow, error) {
		return q.CompareProducts(ctx, dbsqlc.CompareProductsParams{AfterSku: from.Text, Page: int32(limit)})
	}, func(c *comparison, row dbsqlc.CompareProductsRow) position {
		c.add("product/"+row.Sku, row.Detail)
		return position{Text: row.Sku}
	})
}

func compareBalances(ctx context.Context, t *tx, from position, limit int) (comparison, error) {
	return compareRows(ctx, t, limit, func(q *dbsqlc.Queries) ([]dbsqlc.CompareBalancesRow, error) {
		return q.CompareBalances(ctx, dbsqlc.CompareBalancesParams{
			AfterCustomer: from.Text, AfterCurrency: from.Currency, Page: int32(limit),
		})
	}, func(c *comparison, row dbsqlc.CompareBalancesRow) position {
		c.add("balance/"+row.CustomerID, row.Detail)
		return position{Text: row.CustomerID, Currency: row.Currency}
	})
}
