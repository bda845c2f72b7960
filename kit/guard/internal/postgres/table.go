// Package postgres keeps records in a table of PostgreSQL. The stores for pgx and for
// database/sql have it in common.
package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"

	"example.com/orders/kit/guard"
)

// DefaultTable is the name of the table unless a service chooses one.
const DefaultTable = "idempotency_record"

// Table is the name of the table with the records, which may begin with a schema.
type Table string

var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$`)

// NewTable returns a table. It panics if the name would have to be quoted in SQL.
func NewTable(name string) Table {
	if !tableName.MatchString(name) {
		panic(fmt.Sprintf("the table name %q must be in lower case, and may begin with a schema: billing.idempotency_record", name))
	}
	return Table(name)
}

// columns are the columns of the table and their types, in the order of their values.
var columns = [][2]string{
	{"scope", "text"}, {"key", "text"}, {"operation", "text"}, {"fingerprint", "bytea"}, {"status", "integer"},
	{"content_type", "text"}, {"location", "text"}, {"body", "bytea"}, {"created_at", "timestamp with time zone"},
	{"replayed_until", "timestamp with time zone"}, {"expires_at", "timestamp with time zone"},
}

// Schema returns the statements that create the table.
func (t Table) Schema() string {
	_, base, found := strings.Cut(string(t), ".")
	if !found {
		base = string(t)
	}
	return `-- The responses of guarded requests. The transaction of a command writes its record,
-- complete: there is no state "in progress" that a crash could leave behind.
CREATE TABLE IF NOT EXISTS ` + string(t) + ` (
	scope          text        NOT NULL,
	key            text        NOT NULL,
	operation      text        NOT NULL,
	fingerprint    bytea       NOT NULL,
	status         integer     NOT NULL,
	content_type   text        NOT NULL,
	location       text        NOT NULL,
	body           bytea       NOT NULL, -- bytes, not jsonb: a replay is the same to the byte
	created_at     timestamptz NOT NULL,
	replayed_until timestamptz NOT NULL, -- then the key is spent, until the record expires
	expires_at     timestamptz NOT NULL,
	PRIMARY KEY (scope, key)
);
CREATE INDEX IF NOT EXISTS ` + base + `_expiry ON ` + string(t) + ` (expires_at);
`
}

// Statement is a statement for a transaction, and what became of it.
type Statement struct {
	SQL  string
	Args []any
	// Into are the variables for the columns of its row. It is nil for statements that
	// return none.
	Into []any

	// NoRow reports that there was no row, and Affected is how many it changed.
	NoRow    bool
	Affected int64
}

// claim tries to lock a key. It never waits: a duplicate leaves at once, and waits
// without a connection.
func (t Table) claim(id guard.ID, c *claimed) *Statement {
	return &Statement{
		SQL:  "SELECT pg_try_advisory_xact_lock($1), now(), current_setting('transaction_isolation')",
		Args: []any{t.lockID(id)}, Into: []any{&c.locked, &c.now, &c.isolation},
	}
}

// held looks whether a transaction holds the lock of a key. It does not try to lock it:
// a first request that came meanwhile would be told that it is the second.
func (t Table) held(id guard.ID, held *bool) *Statement {
	lock := uint64(t.lockID(id))
	return &Statement{
		SQL: `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::bigint::oid
			AND objid = $2::bigint::oid AND objsubid = 1
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
		Args: []any{int64(lock >> 32), int64(lock & (1<<32 - 1))}, Into: []any{held},
	}
}

// find loads a record, and whether it has expired by the clock of the database.
func (t Table) find(id guard.ID, f *found) *Statement {
	r := &f.record
	r.ID = id
	return &Statement{
		SQL: `SELECT operation, fingerprint, status, content_type, location, body, created_at, replayed_until,
			expires_at, replayed_until < least(expires_at, clock_timestamp()), expires_at <= clock_timestamp()
			FROM ` + string(t) + ` WHERE scope = $1 AND key = $2`,
		Args: []any{string(id.Scope), id.Key},
		Into: []any{
			&r.Operation, &f.fingerprint, &r.Status, &r.ContentType, &r.Location, &r.Body, &r.CreatedAt, &r.ReplayedUntil,
			&r.ExpiresAt, &r.Spent, &f.expired,
		},
	}
}

// insert stores a record. It fails if there is one.
func (t Table) insert(r guard.Record) *Statement {
	return &Statement{
		SQL: `INSERT INTO ` + string(t) + ` (scope, key, operation, fingerprint, status, content_type, location, body,
			created_at, replayed_until, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		Args: []any{
			string(r.Scope), r.Key, r.Operation, []byte(r.Fingerprint), r.Status, r.ContentType, r.Location,
			append([]byte{}, r.Body...), r.CreatedAt, r.ReplayedUntil, r.ExpiresAt,
		},
	}
}

// deleteIfExpired makes room for a record.
func (t Table) deleteIfExpired(id guard.ID) *Statement {
	return &Statement{
		SQL:  `DELETE FROM ` + string(t) + ` WHERE scope = $1 AND key = $2 AND expires_at <= clock_timestamp()`,
		Args: []any{string(id.Scope), id.Key},
	}
}

// deleteExpired deletes up to limit expired records, and leaves those that are locked.
func (t Table) deleteExpired(limit int) *Statement {
	return &Statement{
		SQL: `DELETE FROM ` + string(t) + ` WHERE ctid = ANY(ARRAY(SELECT ctid FROM ` + string(t) + `
			WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`,
		Args: []any{limit},
	}
}

// lockID returns the number of the advisory lock of a key. All users of such locks in a
// database share the 64-bit numbers, so it is a hash. If two keys collide, one waits
// for the other.
func (t Table) lockID(id guard.ID) int64 {
	sum := sha256.Sum256([]byte(string(t) + "\x00" + string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
