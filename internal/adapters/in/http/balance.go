package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// decodeChangeBalance decodes a credit or a charge: their bodies have the same members.
func decodeChangeBalance(r *request) (payment.ChangeBalance, error) {
	customerID, invalidCustomer := decodeCustomerID(r)
	in, err := bodyOf[wire.CreditBalanceRequest](r)
	if err != nil {
		return payment.ChangeBalance{}, err
	}
	amount, err := decodeMoney(in.Amount, "/amount")
	if err != nil {
		return payment.ChangeBalance{}, problem.Join(invalidCustomer, err)
	}
	cmd := payment.ChangeBalance{
		CustomerID: customerID, Amount: amount,
		Description: valueOf(in.Description), Reference: valueOf(in.Reference), Key: r.key,
	}
	return cmd, problem.Join(invalidCustomer, cmd.Validate())
}

func (a *api) getBalance(ctx context.Context, actor core.Actor, customerID string) (*success, error) {
	balances, err := a.Payments.GetBalance(ctx, actor, customerID)
	if err != nil {
		return nil, err
	}
	amounts := convertAll(balances, func(b *payment.Balance) wire.Money { return moneyOut(b.Amount) })
	body := wire.Balance{CustomerID: customerID, Balances: amounts}
	return &success{status: http.StatusOK, body: body}, nil
}

func decodeTransactionFilter(r *request) (payment.EntryFilter, error) {
	customerID, invalidCustomer := decodeCustomerID(r)
	filter := payment.EntryFilter{CustomerID: customerID}
	var err error
	filter.Reference, filter.Created, err = decodeSearch(r)
	return filter, problem.Join(invalidCustomer, err)
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
