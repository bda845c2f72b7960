-- AUTH-19, the first line: what a guarded command answered, kept until it expires.
-- A row is written by the transaction of the command itself, complete, and never
-- changed: there is no state "in progress" that a crash could leave behind.
CREATE TABLE idempotency_record (
    -- Whose key it is: issuer and subject. Equal keys of two principals are two keys.
    principal    text        NOT NULL,
    key          text        NOT NULL,
    -- What was asked for: a version byte and the SHA-256 of the canonical request.
    fingerprint  bytea       NOT NULL,
    command      text        NOT NULL,
    status       smallint    NOT NULL,
    content_type text        NOT NULL,
    location     text        NOT NULL,
    body         bytea       NOT NULL, -- bytes, for jsonb would reorder members
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (principal, key)
);

CREATE INDEX idempotency_record_expiry ON idempotency_record (expires_at);
