-- Payments and refunds, balances, and the ledger.

CREATE TABLE payment (
    id                  bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    order_id            bigint        NOT NULL REFERENCES orders,
    idempotency_key     text          NOT NULL,
    amount              numeric(19,4) NOT NULL CHECK (amount > 0),
    currency            text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    method              text          NOT NULL CHECK (method IN ('balance', 'card')),
    status              text          NOT NULL CHECK (status IN ('processing', 'captured', 'failed')),
    created_by          text          NOT NULL,
    created_at          timestamptz   NOT NULL DEFAULT now(),
    -- What the card provider knows of the payment.
    provider            text          CHECK (provider IN ('stripe')),
    external_payment_id text,
    card_token          text,
    failure             text,
    CHECK ((method = 'card') = (card_token IS NOT NULL)),
    CHECK ((method = 'card') = (provider IS NOT NULL)),
    -- AUTH-19, the second line of defence: one operation makes one payment, for ever.
    UNIQUE (order_id, idempotency_key),
    -- One charge of the provider is one payment here, for ever (R-DIST-IDEM-4).
    UNIQUE (provider, external_payment_id)
);

-- Another key must not make another payment: an order has at most one live payment.
CREATE UNIQUE INDEX payment_one_live ON payment (order_id) WHERE status IN ('processing', 'captured');

CREATE TABLE refund (
    id                 bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    payment_id         bigint        NOT NULL REFERENCES payment,
    order_id           bigint        NOT NULL REFERENCES orders,
    idempotency_key    text,         -- NULL when a cancellation refunded: that has a key of its own
    amount             numeric(19,4) NOT NULL CHECK (amount > 0),
    currency           text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    status             text          NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    reason             text          NOT NULL DEFAULT '',
    full_refund        boolean       NOT NULL, -- no amount was given: all that was refundable
    external_refund_id text          UNIQUE,
    created_by         text          NOT NULL,
    created_at         timestamptz   NOT NULL DEFAULT now(),
    -- AUTH-19, the second line of defence: one operation makes one refund, for ever.
    UNIQUE (payment_id, created_by, idempotency_key)
);

CREATE INDEX refund_of_order ON refund (order_id);

CREATE TABLE balance (
    customer_id text          NOT NULL,
    currency    text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount      numeric(19,4) NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (customer_id, currency)
) WITH (fillfactor = 50); -- balances change often: leave room for updates in place

-- Double entry: one row debits one account and credits another, so that the ledger
-- balances by construction. Rows are only ever added.
CREATE TABLE ledger_entry (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    kind            text          NOT NULL CHECK (kind IN ('credit', 'charge', 'payment', 'refund')),
    debit           text          NOT NULL,
    credit          text          NOT NULL,
    amount          numeric(19,4) NOT NULL CHECK (amount > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    customer_id     text,
    balance_after   numeric(19,4) CHECK (balance_after >= 0),
    payment_id      bigint        REFERENCES payment,
    refund_id       bigint        REFERENCES refund,
    description     text          NOT NULL DEFAULT '',
    reference       text          NOT NULL DEFAULT '',
    created_by      text,
    idempotency_key text,
    created_at      timestamptz   NOT NULL,
    CHECK (debit <> credit),
    CHECK ((customer_id IS NULL) = (balance_after IS NULL)),
    CHECK ((idempotency_key IS NULL) = (created_by IS NULL)),
    -- AUTH-19, the second line of defence: one operation changes a balance once, for ever.
    UNIQUE (customer_id, created_by, idempotency_key)
);

-- The look-up by operation does not say balance_after, so it cannot use this index: with
-- it, it would read all entries of a customer.
CREATE INDEX ledger_entry_of_customer ON ledger_entry (customer_id, created_at DESC, id DESC)
    WHERE balance_after IS NOT NULL;
