package main

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/sqlstore"
)

// inGuard returns a session of GORM on the transaction of the guard.
func inGuard(ctx context.Context, db *gorm.DB) *gorm.DB {
	session := db.Session(&gorm.Session{Context: ctx, NewDB: true, SkipDefaultTransaction: true})
	session.Statement.ConnPool = sqlstore.Tx(ctx)
	return session
}

type transferRow struct {
	ID                      int
	Account, Principal, Key string
	Cents                   int
}

func (transferRow) TableName() string { return "transfer" }

// onGORM returns a bank on GORM.
func onGORM(db *gorm.DB) bank {
	return bank{pay: func(ctx context.Context, t transfer) (int, error) {
		tx, key := inGuard(ctx, db), guard.KeyOf(ctx)
		var names []string
		err := tx.Table("account").Clauses(clause.Locking{Strength: "UPDATE"}).Where("name = ?", t.Account).Pluck("name", &names).Error
		if err != nil {
			return 0, err
		}
		if len(names) == 0 {
			return 0, errNoAccount
		}
		var row transferRow
		err = tx.Where("account = ? AND principal = ? AND key = ?", t.Account, t.Principal, key).Take(&row).Error
		if err == nil && row.Cents != t.Cents {
			return 0, guard.ErrKeyReused
		}
		if errors.Is(err, gorm.ErrRecordNotFound) {
			row = transferRow{Account: t.Account, Principal: t.Principal, Key: key, Cents: t.Cents}
			err = tx.Create(&row).Error
		}
		return row.ID, err
	}}
}
