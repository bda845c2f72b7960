package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// decodeChangeBalance decodes a credit or a charge: their bodies have the same members.
func decodeChangeBalance(r *request) (payment.ChangeBalance, error) {
	customerID, err := decodeCustomerID(r)
	if err != nil {
		return payment.ChangeBalance{}, err
	}
	in, err := bodyOf[wire.CreditBalanceRequest](r)
	if err != nil {
		return payment.ChangeBalance{}, err
	}
	amount, err := decodeMoney(in.Amount, "/amount")
	if err != nil {
		return payment.ChangeBalance{}, err
	}
	cmd := payment.ChangeBalance{
		CustomerID: customerID, Amount: amount,
		Description: valueOf(in.Description), Reference: valueOf(in.Reference), Key: r.key,
	}
	return cmd, cmd.Validate()
}

func (a *api) getBalance(ctx context.Context, actor core.Actor, customerID string) (*success, error) {
	balances, err := a.Payments.GetBalance(ctx, actor, customerID)
	if err != nil {
		return nil, err
	}
	amounts := each(balances, func(b *payment.Balance) wire.Money { return moneyOut(b.Amount) })
	return &success{status: http.StatusOK, body: wire.Balance{CustomerID: customerID, Balances: amounts}}, nil
}

type transactionList struct {
	filter payment.EntryFilter
	page   core.Page
}

func decodeTransactionList(r *request) (transactionList, error) {
	customerID, err := decodeCustomerID(r)
	if err != nil {
		return transactionList{}, err
	}
	page, err := decodePage(r)
	if err != nil {
		return transactionList{}, err
	}
	filter := payment.EntryFilter{CustomerID: customerID}
	filter.Reference, filter.Created, err = decodeSearch(r)
	return transactionList{filter: filter, page: page}, err
}

func (a *api) listBalanceTransactions(ctx context.Context, actor core.Actor, query transactionList) (*success, error) {
	entries, next, err := a.Payments.ListBalanceTransactions(ctx, actor, query.filter, query.page)
	if err != nil {
		return nil, err
	}
	body := wire.BalanceTransactionPage{Data: each(entries, balanceTransactionOut), NextCursor: encodeCursor(next)}
	return &success{status: http.StatusOK, body: body}, nil
}

func showBalanceTransaction(e *payment.LedgerEntry) *success {
	return &success{status: http.StatusCreated, body: balanceTransactionOut(e)}
}

func balanceTransactionOut(e *payment.LedgerEntry) wire.BalanceTransaction {
	return wire.BalanceTransaction{
		ID: e.ID, CustomerID: e.CustomerID, Kind: wire.BalanceTransactionKind(e.Kind),
		Amount: moneyOut(e.Amount), BalanceAfter: moneyOut(e.BalanceAfter),
		Description: orNull(e.Description), Reference: orNull(e.Reference), CreatedAt: e.CreatedAt,
	}
}
