package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/examples/bankdb"
	"example.com/orders/kit/guard/pgxstore"
)

// onSQLC is a bank on code that sqlc generated.
var onSQLC = bank{pay: func(ctx context.Context, t transfer) (id int, err error) {
	queries, key := bankdb.New(pgxstore.Tx(ctx)), guard.KeyOf(ctx)
	if _, err := queries.LockAccount(ctx, t.Account); errors.Is(err, pgx.ErrNoRows) {
		return 0, errNoAccount
	} else if err != nil {
		return 0, err
	}
	found, err := queries.FindTransfer(ctx, bankdb.FindTransferParams{Account: t.Account, Principal: t.Principal, Key: key})
	if err == nil && found.Cents != int64(t.Cents) {
		return 0, guard.ErrKeyReused
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return int(found.ID), err
	}
	inserted, err := queries.InsertTransfer(ctx, bankdb.InsertTransferParams{
		Account: t.Account, Cents: int64(t.Cents), Principal: t.Principal, Key: key,
	})
	return int(inserted), err
}}
