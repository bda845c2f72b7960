-- The state of fakestripe. All names have the schema, because the database may be shared.
CREATE SCHEMA IF NOT EXISTS fakestripe;

CREATE TABLE IF NOT EXISTS fakestripe.intent (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id        text        NOT NULL UNIQUE,
    amount    bigint      NOT NULL CHECK (amount > 0),
    received  bigint, -- what a success moves, NULL for the amount
    currency  text        NOT NULL,
    token     text        NOT NULL,
    status    text        NOT NULL,
    failure   text        NOT NULL, -- the decline code, or ''
    metadata  jsonb       NOT NULL,
    created   timestamptz NOT NULL DEFAULT now(),
    decide_at timestamptz -- of a late intent that is still processing
);
ALTER TABLE fakestripe.intent ADD COLUMN IF NOT EXISTS received bigint; -- of an older version
ALTER TABLE fakestripe.intent ADD COLUMN IF NOT EXISTS livemode boolean NOT NULL DEFAULT false;
CREATE INDEX IF NOT EXISTS intent_undecided ON fakestripe.intent (decide_at) WHERE decide_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS intent_metadata ON fakestripe.intent USING gin (metadata jsonb_path_ops);

CREATE TABLE IF NOT EXISTS fakestripe.refund (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id        text        NOT NULL UNIQUE,
    intent    text        NOT NULL REFERENCES fakestripe.intent (id),
    amount    bigint      NOT NULL CHECK (amount > 0),
    status    text        NOT NULL,
    failure   text        NOT NULL,
    metadata  jsonb       NOT NULL,
    created   timestamptz NOT NULL DEFAULT now(),
    decide_at timestamptz
);
ALTER TABLE fakestripe.refund ADD COLUMN IF NOT EXISTS reason text; -- of a person in the dashboard
CREATE INDEX IF NOT EXISTS refund_of_intent ON fakestripe.refund (intent);
CREATE INDEX IF NOT EXISTS refund_undecided ON fakestripe.refund (decide_at) WHERE decide_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS fakestripe.dispute (
    number       bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id           text        NOT NULL UNIQUE,
    intent       text        NOT NULL REFERENCES fakestripe.intent (id),
    amount       bigint      NOT NULL CHECK (amount > 0),
    reason       text        NOT NULL,
    status       text        NOT NULL,
    due_by       timestamptz NOT NULL,
    transactions jsonb       NOT NULL DEFAULT '[]', -- the money that it moved
    created      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS dispute_of_intent ON fakestripe.dispute (intent);

-- The first response to each idempotency key.
CREATE TABLE IF NOT EXISTS fakestripe.response (
    key     text  PRIMARY KEY,
    request bytea NOT NULL, -- hash of method, path and parameters
    status  int   NOT NULL,
    body    text  NOT NULL
);

-- How many attempts a key had with a payment method that fails at first.
CREATE TABLE IF NOT EXISTS fakestripe.attempt (
    key   text PRIMARY KEY,
    count int  NOT NULL
);

-- Deliveries of webhooks. An event that is sent twice has two rows.
CREATE TABLE IF NOT EXISTS fakestripe.delivery (
    number    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    event     text        NOT NULL,
    type      text        NOT NULL,
    payload   text        NOT NULL,
    due       timestamptz NOT NULL,
    attempts  int         NOT NULL DEFAULT 0,
    delivered timestamptz
);
CREATE INDEX IF NOT EXISTS delivery_open ON fakestripe.delivery (due, number) WHERE delivered IS NULL;
