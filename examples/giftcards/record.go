package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"example.com/orders/kit/guard"
)

// table holds the records, in any schema: "billing.idempotency_record".
const table = "idempotency_record"

// recordSchema is the table of the guard. The transaction of a command writes its record,
// complete: there is no state "in progress" that a crash could leave behind.
const recordSchema = `
CREATE TABLE IF NOT EXISTS ` + table + ` (
	scope          text        NOT NULL,
	key            text        NOT NULL,
	operation      text        NOT NULL,
	fingerprint    bytea       NOT NULL,
	status         int         NOT NULL,
	content_type   text        NOT NULL,
	location       text        NOT NULL,
	body           bytea       NOT NULL, -- bytes, not jsonb: a replay is the same to the byte
	created_at     timestamptz NOT NULL,
	replayed_until timestamptz NOT NULL, -- then the key is spent, until the record expires
	expires_at     timestamptz NOT NULL,
	PRIMARY KEY (scope, key)
);
CREATE INDEX IF NOT EXISTS idempotency_record_expiry ON ` + table + ` (expires_at);
`

// claimKey never waits: a duplicate leaves at once and waits without a connection. All times
// come from the database clock.
const claimKey = "SELECT pg_try_advisory_xact_lock($1), now()"

const (
	findRecord = `SELECT operation, fingerprint, status, content_type, location, body, created_at, replayed_until,
		expires_at, replayed_until < least(expires_at, clock_timestamp()) FROM ` + table + `
		WHERE scope = $1 AND key = $2 AND expires_at > clock_timestamp()`
	deleteExpiredRecord = "DELETE FROM " + table + " WHERE scope = $1 AND key = $2 AND expires_at <= clock_timestamp()"
	insertRecord        = "INSERT INTO " + table + `
		(scope, key, operation, fingerprint, status, content_type, location, body, created_at, replayed_until, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
)

// scanRecord reads a row of findRecord. pgx.Row and *sql.Row have this method.
func scanRecord(row interface{ Scan(dest ...any) error }, id guard.ID) (guard.Record, error) {
	r := guard.Record{Claim: guard.Claim{ID: id}}
	var fingerprint []byte
	err := row.Scan(&r.Operation, &fingerprint, &r.Status, &r.ContentType, &r.Location, &r.Body,
		&r.CreatedAt, &r.ReplayedUntil, &r.ExpiresAt, &r.Spent)
	r.Fingerprint = guard.Fingerprint(fingerprint)
	return r, err
}

// recordValues are the arguments of insertRecord.
func recordValues(r guard.Record) []any {
	return []any{
		r.Scope, r.Key, r.Operation, []byte(r.Fingerprint), r.Status, r.ContentType, r.Location, append([]byte{}, r.Body...),
		r.CreatedAt, r.ReplayedUntil, r.ExpiresAt,
	}
}

// errOutcomeUnknown: COMMIT failed, and may have taken effect. Only the key can tell.
var errOutcomeUnknown = errors.New("the outcome of the commit is unknown")

// maxRuns bounds how often a transaction that lost a race starts again.
const maxRuns = 5

// lostRace reports a deadlock (40P01) or a conflict (40001): the transaction can start again.
// Errors of pgx and of lib/pq have this method.
func lostRace(err error) bool {
	cause, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (cause.SQLState() == "40P01" || cause.SQLState() == "40001")
}

// lockID returns the advisory lock number of a key. All users of such locks in a database
// share the 64-bit numbers, so it is a hash. If two keys collide, one waits for the other.
func lockID(id guard.ID) int64 {
	sum := sha256.Sum256([]byte(table + "\x00" + string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
