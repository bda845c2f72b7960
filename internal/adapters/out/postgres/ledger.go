package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// ledger implements [payment.Ledger].
type ledger struct{ tx *session }

// Append inserts an entry.
func (s ledger) Append(_ context.Context, e *payment.LedgerEntry) error {
	return s.tx.write(appendedEntry{e.Clone()})
}

// appendedEntry is an entry appended by a command.
type appendedEntry struct{ *payment.LedgerEntry }

// join lets later members find the entry by operation and reference.
func (e appendedEntry) join(b *batch) {
	b.entries = append(b.entries, e)
	b.entriesBy[operationOf{e.CustomerID, e.By}] = e.LedgerEntry
	if e.Reference != "" {
		b.entryRefs[entryRef{e.CustomerID, e.Kind, e.Reference}] = true
	}
}

// HasReference reports whether there is an entry about a transaction of the provider.
func (s ledger) HasReference(ctx context.Context, kind payment.EntryKind, reference string) (bool, error) {
	id, err := firstID(ctx, s.tx, (*queries).EntryOfTransaction, dbsqlc.EntryOfTransactionParams{Reference: reference, Kind: string(kind)})
	return id != 0, err
}

// List returns a page plus one more entry, newest first.
func (s ledger) List(ctx context.Context, f payment.EntryFilter, page core.Page) ([]*payment.LedgerEntry, error) {
	by := dbsqlc.ListLedgerEntriesParams{
		CustomerID: &f.CustomerID,
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	}
	if f.Reference == "" {
		return fetch.List(ctx, s.tx, (*queries).ListLedgerEntries, by, entryOf)
	}
	return fetch.List(ctx, s.tx, (*queries).ListLedgerEntriesByReference, dbsqlc.ListLedgerEntriesByReferenceParams{
		CustomerID: by.CustomerID, Reference: f.Reference,
		BeforeTime: by.BeforeTime, BeforeID: by.BeforeID, CreatedFrom: by.CreatedFrom, Rows: by.Rows,
	}, entryOf)
}

func entryParams(e appendedEntry) dbsqlc.InsertLedgerEntryParams {
	return dbsqlc.InsertLedgerEntryParams{
		ID: e.ID, Kind: string(e.Kind), Debit: string(e.Debit), Credit: string(e.Credit),
		Amount: e.Amount.Decimal(), Currency: string(e.Amount.Currency()),
		CustomerID:   null.IfZero(e.CustomerID),
		BalanceAfter: balanceAfter(e.LedgerEntry),
		Position:     e.Position,
		PaymentID:    null.IfZero(e.PaymentID), RefundID: null.IfZero(e.RefundID),
		Description: e.Description, Reference: e.Reference,
		CreatedBy: null.IfZero(e.By.Actor), IdempotencyKey: null.IfZero(e.By.Key), CreatedAt: e.CreatedAt,
	}
}

func entriesParams(entries []appendedEntry) dbsqlc.InsertLedgerEntriesParams {
	var p dbsqlc.InsertLedgerEntriesParams
	for _, e := range entries {
		one := entryParams(e)
		p.Ids, p.Kinds = append(p.Ids, one.ID), append(p.Kinds, one.Kind)
		p.Debits, p.Credits = append(p.Debits, one.Debit), append(p.Credits, one.Credit)
		p.Amounts, p.Currencies = append(p.Amounts, one.Amount), append(p.Currencies, one.Currency)
		p.CustomerIds, p.BalancesAfter = append(p.CustomerIds, e.CustomerID), append(p.BalancesAfter, null.Value(one.BalanceAfter))
		p.Positions = append(p.Positions, one.Position)
		p.PaymentIds, p.RefundIds = append(p.PaymentIds, e.PaymentID), append(p.RefundIds, e.RefundID)
		p.Descriptions, p.Refs = append(p.Descriptions, one.Description), append(p.Refs, one.Reference)
		p.CreatedBy, p.IdempotencyKeys = append(p.CreatedBy, e.By.Actor), append(p.IdempotencyKeys, e.By.Key)
		p.CreatedAt = append(p.CreatedAt, one.CreatedAt)
	}
	return p
}

func entryOf(row dbsqlc.LedgerEntry) (*payment.LedgerEntry, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	if err != nil {
		return nil, err
	}
	e := &payment.LedgerEntry{
		ID: row.ID, Kind: payment.EntryKind(row.Kind),
		Debit: payment.Account(row.Debit), Credit: payment.Account(row.Credit), Amount: amount,
		PaymentID: null.Value(row.PaymentID), RefundID: null.Value(row.RefundID),
		CustomerID: null.Value(row.CustomerID), Position: row.Position, Description: row.Description, Reference: row.Reference,
		By: core.Operation{Actor: null.Value(row.CreatedBy), Key: null.Value(row.IdempotencyKey)}, CreatedAt: row.CreatedAt.UTC(),
	}
	if row.BalanceAfter.Valid {
		e.BalanceAfter, err = core.MoneyOf(row.BalanceAfter.Decimal, row.Currency)
	}
	return e, err
}

// balanceAfter returns NULL for an entry that changes no balance.
func balanceAfter(e *payment.LedgerEntry) *string {
	if e.CustomerID == "" {
		return nil
	}
	return new(e.BalanceAfter.Decimal())
}

// balances implements [payment.Balances].
type balances struct{ tx *session }

// Lock locks and loads a balance, and the operation's earlier entry. Two concurrent
// first changes both find no balance and insert one: the primary key accepts one, and
// the other transaction starts over. The reference is looked up after the lock, so that
// the lookup sees the previous holder's entry.
func (s balances) Lock(ctx context.Context, query payment.BalanceQuery) (payment.LockedBalance, error) {
	return ask(ctx, s.tx, balanceLoad(query), s.tx.batch.lockedBalance)
}

// Of returns the balances of a customer.
func (s balances) Of(ctx context.Context, customerID string) ([]*payment.Balance, error) {
	return fetch.List(ctx, s.tx, (*queries).BalancesOf, customerID, balanceOf)
}

// Save inserts or updates a balance.
func (s balances) Save(_ context.Context, b *payment.Balance) error {
	return s.tx.write(savedBalance{b.Clone()})
}

// savedBalance is a balance changed by a command.
type savedBalance struct{ *payment.Balance }

// join lets later members change the balance further. Its row is written once.
func (s savedBalance) join(b *batch) {
	key := balanceKey{s.CustomerID, s.Amount.Currency()}
	if s.New {
		b.newBalances.add(key, nil)
	} else if !b.newBalances.has(key) {
		b.oldBalances.add(key, b.balances[key])
	}
	later := s.Clone()
	later.New = false
	b.balances[key] = later
}

func (b *batch) newBalancesParams(keys []balanceKey) dbsqlc.InsertBalancesParams {
	var p dbsqlc.InsertBalancesParams
	for _, k := range keys {
		saved := b.balances[k]
		p.CustomerIds, p.Currencies = append(p.CustomerIds, k.customer), append(p.Currencies, string(k.currency))
		p.Amounts, p.Positions = append(p.Amounts, saved.Amount.Decimal()), append(p.Positions, saved.Position)
		p.ChangedAt = append(p.ChangedAt, saved.ChangedAt)
	}
	return p
}

func (b *batch) oldBalanceParams(k balanceKey) dbsqlc.UpdateBalanceParams {
	saved := b.balances[k]
	return dbsqlc.UpdateBalanceParams{
		CustomerID: k.customer, Currency: string(k.currency), Amount: saved.Amount.Decimal(), ChangedAt: saved.ChangedAt,
		Position: saved.Position, ReadPosition: b.oldBalances.read[k].Position,
	}
}

func (b *batch) oldBalancesParams(keys []balanceKey) dbsqlc.UpdateBalancesParams {
	var p dbsqlc.UpdateBalancesParams
	for _, k := range keys {
		one := b.oldBalanceParams(k)
		p.CustomerIds, p.Currencies = append(p.CustomerIds, one.CustomerID), append(p.Currencies, one.Currency)
		p.Amounts, p.Positions = append(p.Amounts, one.Amount), append(p.Positions, one.Position)
		p.ChangedAt, p.ReadPositions = append(p.ChangedAt, one.ChangedAt), append(p.ReadPositions, one.ReadPosition)
	}
	return p
}

func balanceOf(row dbsqlc.Balance) (*payment.Balance, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &payment.Balance{
		CustomerID: row.CustomerID, Amount: amount, Position: row.Position, ChangedAt: row.ChangedAt.UTC(),
	}, err
}
