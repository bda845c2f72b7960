-- What the double of the payment provider remembers. Names begin with the schema, because the database may be another's.
CREATE SCHEMA IF NOT EXISTS psp_double;

CREATE TABLE IF NOT EXISTS psp_double.intent (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id        text        NOT NULL UNIQUE,
    amount    bigint      NOT NULL CHECK (amount > 0),
    currency  text        NOT NULL,
    token     text        NOT NULL,
    status    text        NOT NULL,
    failure   text        NOT NULL,
    metadata  jsonb       NOT NULL,
    created   timestamptz NOT NULL DEFAULT now(),
    decides   timestamptz -- when what is processing is decided
);
CREATE INDEX IF NOT EXISTS intent_undecided ON psp_double.intent (decides) WHERE decides IS NOT NULL;
CREATE INDEX IF NOT EXISTS intent_metadata ON psp_double.intent USING gin (metadata jsonb_path_ops);

CREATE TABLE IF NOT EXISTS psp_double.refund (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id        text        NOT NULL UNIQUE,
    intent    text        NOT NULL REFERENCES psp_double.intent (id),
    amount    bigint      NOT NULL CHECK (amount > 0),
    status    text        NOT NULL,
    failure   text        NOT NULL,
    metadata  jsonb       NOT NULL,
    created   timestamptz NOT NULL DEFAULT now(),
    decides   timestamptz
);
CREATE INDEX IF NOT EXISTS refund_of_intent ON psp_double.refund (intent);
CREATE INDEX IF NOT EXISTS refund_undecided ON psp_double.refund (decides) WHERE decides IS NOT NULL;

-- The first answer to each idempotency key.
CREATE TABLE IF NOT EXISTS psp_double.answer (
    key     text  PRIMARY KEY,
    request bytea NOT NULL, -- hash of what was asked
    status  int   NOT NULL,
    body    text  NOT NULL
);

-- How often a key was tried while its payment method still failed.
CREATE TABLE IF NOT EXISTS psp_double.try (
    key   text PRIMARY KEY,
    count int  NOT NULL
);

-- Webhooks. An event that is sent twice has two rows.
CREATE TABLE IF NOT EXISTS psp_double.delivery (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    event     text        NOT NULL,
    type      text        NOT NULL,
    payload   text        NOT NULL,
    due       timestamptz NOT NULL,
    tries     int         NOT NULL DEFAULT 0,
    delivered timestamptz
);
CREATE INDEX IF NOT EXISTS delivery_open ON psp_double.delivery (due, number) WHERE delivered IS NULL;
