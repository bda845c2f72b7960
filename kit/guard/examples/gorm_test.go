package examples

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/routetest"
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

// TestGORM asks a route under echo, with GORM on database/sql.
func TestGORM(t *testing.T) {
	t.Parallel()
	routetest.Run(t, func(t *testing.T) routetest.Route {
		t.Helper()
		return newRoute(t, newTables(t), func(pool *pgxpool.Pool) http.Handler {
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { _ = db.Close() })
			orm, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			return onEcho(onGORM(orm), newGuard(sqlstore.New(db)))
		})
	})
}
