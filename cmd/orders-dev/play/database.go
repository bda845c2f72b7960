package play

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shown is how the page writes an amount, for to_char.
const shown = "FM999,999,999,990.00"

// database is the owner's view of the playground database, past the service.
type database struct{ pool *pgxpool.Pool }

func openDatabase(ctx context.Context, url string) (database, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return database{}, err
	}
	cfg.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	return database{pool}, err
}

// LedgerEntry is a ledger_entry row that changed a customer balance.
type LedgerEntry struct {
	ID           int64  `json:"id"`
	Kind         string `json:"kind"`
	Description  string `json:"description"`
	Amount       string `json:"amount"`
	BalanceAfter string `json:"balance_after"`
}

// ledger returns the latest entries of a customer, newest first.
func (d database) ledger(ctx context.Context, customer string, limit int) ([]LedgerEntry, error) {
	rows, err := d.pool.Query(ctx, `
		SELECT id, kind, description, to_char(amount, '`+shown+`'), to_char(balance_after, '`+shown+`')
		FROM ledger_entry WHERE customer_id = $1 AND balance_after IS NOT NULL
		ORDER BY position DESC LIMIT $2`, customer, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[LedgerEntry])
}

// Moved is what a payment did to the balance.
type Moved struct {
	Times int    `json:"times"`
	Sum   string `json:"sum"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// moved reads from the ledger how a payment moved the balance.
func (d database) moved(ctx context.Context, p *operation) (m Moved, err error) {
	err = d.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(to_char(sum(amount), '`+shown+`'), ''),
		       coalesce(to_char(max(balance_after + amount), '`+shown+`'), ''), coalesce(to_char(min(balance_after), '`+shown+`'), '')
		FROM ledger_entry WHERE customer_id = $1 AND description = $2`,
		p.account.customer, p.description()).Scan(&m.Times, &m.Sum, &m.From, &m.To)
	return m, err
}

// Record is an idempotency_record row.
type Record struct {
	Key       string    `json:"key"`
	Status    int       `json:"status"`
	ExpiresAt time.Time `json:"expires_at"`
	Expired   bool      `json:"expired"`
}

// record returns a key record, or nil.
func (d database) record(ctx context.Context, key string) (*Record, error) {
	rows, err := d.pool.Query(ctx, `
		SELECT key, status, expires_at, expires_at <= clock_timestamp() FROM idempotency_record WHERE key = $1`, key)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[Record])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return found, err
}

// expire makes a key record expire now.
func (d database) expire(ctx context.Context, key string) error {
	_, err := d.pool.Exec(ctx, `UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE key = $1`, key)
	return err
}

// rowLock locks a customer balance, so that a payment stops in the middle of the
// transaction.
type rowLock struct {
	pool *pgxpool.Pool
	conn *pgx.Conn
}

func (d database) lockBalance(ctx context.Context, customer string) (*rowLock, error) {
	pooled, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	l := &rowLock{d.pool, pooled.Hijack()}
	if _, err := l.conn.Exec(ctx, `BEGIN`); err != nil {
		l.release()
		return nil, err
	}
	if _, err := l.conn.Exec(ctx, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// awaitWaiter waits until a replica transaction waits for the row.
func (l *rowLock) awaitWaiter(ctx context.Context) error {
	return poll(ctx, "a payment waits for the locked balance", func() (waits bool, err error) {
		err = l.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid)))`,
			l.conn.PgConn().PID()).Scan(&waits)
		return waits, err
	})
}

// release ends the transaction by closing the connection.
func (l *rowLock) release() { _ = l.conn.Close(context.Background()) }
