package reconcile

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core/payment"
)

// position is the progress within a reconciliation pass, stored as JSON between steps.
type position struct {
	Check string `json:"check"`
	// The last compared row's key.
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
	// more reports whether the check's table has more rows.
	more bool
}

// add adds a mismatch, unless the detail is empty.
func (c *comparison) add(resource, detail string) {
	if detail != "" {
		c.found = append(c.found, payment.Mismatch{Resource: resource, Detail: detail})
	}
}

// checks are the tables that a pass compares, in this order.
var checks = []struct {
	name    string
	compare func(ctx context.Context, t *pgtx.Tx, from position, limit int) (comparison, error)
}{
	{"orders", compareOrders},
	{"payments", comparePayments},
	{"products", compareProducts},
	{"accounts", compareEntries},
	{"balances", compareBalances},
}

// Compare compares the next rows in one transaction, for the store interface in
// core/payment/reconcile.
func (s Store) Compare(ctx context.Context, from string, limit int) (found []payment.Mismatch, next string, err error) {
	at, number := parsePosition(from)
	var c comparison
	err = s.db.Read(ctx, func(ctx context.Context, t *pgtx.Tx) (err error) {
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

// parsePosition returns a position and its check's index. A position that it cannot
// parse, such as one from another service version, restarts the pass.
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

// compareRows runs a check's query and passes each row to add. add returns the row's
// key, where the next step continues.
func compareRows[P, R any](
	ctx context.Context, t *pgtx.Tx, limit int,
	query func(*dbsqlc.Queries, context.Context, P) ([]R, error), params P, add func(c *comparison, row R) position,
) (c comparison, err error) {
	var rows []R
	err = t.Load(ctx, pgtx.Into(&rows, query, params))
	for _, row := range rows {
		c.next = add(&c, row)
	}
	c.more = len(rows) == limit
	return c, err
}

func compareOrders(ctx context.Context, t *pgtx.Tx, from position, limit int) (comparison, error) {
	after := dbsqlc.CompareOrdersParams{AfterID: from.ID, Page: int32(limit)}
	return compareRows(ctx, t, limit, (*dbsqlc.Queries).CompareOrders, after, func(c *comparison, row dbsqlc.CompareOrdersRow) position {
		c.add(fmt.Sprintf("order/%d", row.ID), row.Detail)
		return position{ID: row.ID}
	})
}

func comparePayments(ctx context.Context, t *pgtx.Tx, from position, limit int) (comparison, error) {
	after := dbsqlc.ComparePaymentsParams{AfterID: from.ID, Page: int32(limit)}
	return compareRows(ctx, t, limit, (*dbsqlc.Queries).ComparePayments, after, func(c *comparison, row dbsqlc.ComparePaymentsRow) position {
		for _, detail := range row.Details {
			c.add(fmt.Sprintf("payment/%d", row.ID), detail)
		}
		return position{ID: row.ID}
	})
}

func compareProducts(ctx context.Context, t *pgtx.Tx, from position, limit int) (comparison, error) {
	after := dbsqlc.CompareProductsParams{AfterSku: from.Text, Page: int32(limit)}
	return compareRows(ctx, t, limit, (*dbsqlc.Queries).CompareProducts, after, func(c *comparison, row dbsqlc.CompareProductsRow) position {
		c.add("product/"+row.Sku, row.Detail)
		return position{Text: row.Sku}
	})
}

func compareBalances(ctx context.Context, t *pgtx.Tx, from position, limit int) (comparison, error) {
	after := dbsqlc.CompareBalancesParams{AfterCustomer: from.Text, AfterCurrency: from.Currency, Page: int32(limit)}
	return compareRows(ctx, t, limit, (*dbsqlc.Queries).CompareBalances, after, func(c *comparison, row dbsqlc.CompareBalancesRow) position {
		c.add("balance/"+row.CustomerID, row.Detail)
		return position{Text: row.CustomerID, Currency: row.Currency}
	})
}
