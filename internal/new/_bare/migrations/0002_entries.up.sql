-- An example, to be replaced by the first table of this service.
CREATE TABLE entry (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    amount          numeric(19,4) NOT NULL CHECK (amount > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    description     text          NOT NULL,
    created_by      text          NOT NULL,
    idempotency_key text          NOT NULL,
    created_at      timestamptz   NOT NULL,
    -- One operation, one entry, for ever: also when its idempotency record has expired.
    UNIQUE (created_by, idempotency_key)
);
