package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"time"

	"example.com/orders/kit/client/api"
)

// Lists are iterators that fetch the next page when the last one is consumed:
//
//	for order, err := range c.ListOrders(ctx, client.OrderFilter{}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error ends the iteration.

// OrderFilter selects orders. The zero value selects every order that the caller may see.
type OrderFilter struct {
	Status      string
	CustomerID  string
	Reference   string
	CreatedFrom time.Time // inclusive
	CreatedTo   time.Time // exclusive
	PageSize    int       // 1–100; the service has a default
}

// ListOrders returns orders, newest first.
func (c *Client) ListOrders(ctx context.Context, filter OrderFilter) iter.Seq2[Order, error] {
	query := url.Values{}
	set(query, "status", filter.Status)
	set(query, "customer_id", filter.CustomerID)
	set(query, "reference", filter.Reference)
	setTime(query, "created_from", filter.CreatedFrom)
	setTime(query, "created_to", filter.CreatedTo)
	setSize(query, filter.PageSize)
	return pages[Order](ctx, c, to(api.ListOrders), query)
}

// ListPayments returns the payments of an order with refunds, newest first.
func (c *Client) ListPayments(ctx context.Context, orderID int64) iter.Seq2[PaymentWithRefunds, error] {
	return pages[PaymentWithRefunds](ctx, c, to(api.ListPayments, orderID), url.Values{})
}

// PaymentFilter selects payments. The zero value selects all.
type PaymentFilter struct {
	Status      string
	Method      string
	CreatedFrom time.Time // inclusive
	CreatedTo   time.Time // exclusive
	PageSize    int       // 1–100; the service has a default
}

// SearchPayments returns the payments of all orders with their refunds, newest first, to
// administrators.
func (c *Client) SearchPayments(ctx context.Context, filter PaymentFilter) iter.Seq2[PaymentWithRefunds, error] {
	query := url.Values{}
	set(query, "status", filter.Status)
	set(query, "method", filter.Method)
	setTime(query, "created_from", filter.CreatedFrom)
	setTime(query, "created_to", filter.CreatedTo)
	setSize(query, filter.PageSize)
	return pages[PaymentWithRefunds](ctx, c, to(api.SearchPayments), query)
}

// TransactionFilter selects balance transactions. A zero value selects all.
type TransactionFilter struct {
	Reference   string
	CreatedFrom time.Time // inclusive
	CreatedTo   time.Time // exclusive
	PageSize    int       // 1–100; the service has a default
}

// ListBalanceTransactions returns balance transactions of a customer, newest first.
func (c *Client) ListBalanceTransactions(
	ctx context.Context, customerID string, filter TransactionFilter,
) iter.Seq2[BalanceTransaction, error] {
	query := url.Values{}
	set(query, "reference", filter.Reference)
	setTime(query, "created_from", filter.CreatedFrom)
	setTime(query, "created_to", filter.CreatedTo)
	setSize(query, filter.PageSize)
	return pages[BalanceTransaction](ctx, c, to(api.ListBalanceTransactions, customerID), query)
}

// ListProducts returns all products.
func (c *Client) ListProducts(ctx context.Context) iter.Seq2[Product, error] {
	return pages[Product](ctx, c, to(api.ListProducts), url.Values{})
}

// ListAuditLog returns the audit log, newest first.
func (c *Client) ListAuditLog(ctx context.Context) iter.Seq2[AuditEntry, error] {
	return pages[AuditEntry](ctx, c, to(api.ListAuditLog), url.Values{})
}

// page is one page of a list, or a whole list that has no pages.
type page[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"next_cursor"`
}

// pages returns the entries on all pages of a list.
func pages[T any](ctx context.Context, c *Client, list request, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			fetched, _, err := call[page[T]](ctx, c, list.at(query, cursor))
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range fetched.Data {
				if !yield(entry, nil) {
					return
				}
			}
			if cursor = fetched.NextCursor; cursor == "" {
				return
			}
		}
	}
}

// at returns the request for one page.
func (r request) at(query url.Values, cursor string) request {
	query = maps.Clone(query)
	set(query, "cursor", cursor)
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	return r
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// setTime rounds up to the microsecond, which is the service precision, so that entries stay
// on their side of the boundary.
func setTime(query url.Values, name string, value time.Time) {
	if !value.IsZero() {
		query.Set(name, value.Add(time.Microsecond-1).Truncate(time.Microsecond).UTC().Format(time.RFC3339Nano))
	}
}

func setSize(query url.Values, size int) {
	if size != 0 {
		query.Set("limit", strconv.Itoa(size))
	}
}
