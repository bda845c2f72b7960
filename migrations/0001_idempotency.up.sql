-- AUTH-19: the responses of guarded commands, kept until they expire.
--
-- The transaction of the command writes the row, complete, and nobody changes it. There
-- is no state "in progress" that a crash could leave behind.
CREATE TABLE idempotency_record (
    -- Whose key it is: issuer and subject. Equal keys of two principals are two keys.
    scope        text        NOT NULL,
    key          text        NOT NULL,
    -- What the request asked for: a version byte and a SHA-256 (see Fingerprint).
    fingerprint  bytea       NOT NULL,
    operation    text        NOT NULL,
    status       smallint    NOT NULL,
    content_type text        NOT NULL,
    location     text        NOT NULL,
    body         bytea       NOT NULL, -- bytes: jsonb would reorder the members
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE INDEX idempotency_record_expiry ON idempotency_record (expires_at);
