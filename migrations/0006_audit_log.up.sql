-- What administrators changed, and what they read of others (AUTH-12, AUTH-15).
CREATE TABLE audit_log (
    id       bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    actor    text        NOT NULL,
    at       timestamptz NOT NULL,
    action   text        NOT NULL,
    resource text        NOT NULL,
    metadata jsonb       NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_log_newest ON audit_log (at DESC, id DESC);
