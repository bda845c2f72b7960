-- The table of the guard. The transaction of a command writes its record, complete: there
-- is no state "in progress" that a crash could leave behind.
CREATE TABLE IF NOT EXISTS idempotency_record (
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
CREATE INDEX IF NOT EXISTS idempotency_record_expiry ON idempotency_record (expires_at);
