-- Products, orders, payments and the double-entry books.
--
-- Constraints repeat the rules that matter: the core is the first line, they are
-- the second. Ids step by 100: each process draws them in blocks of 100, so that a
-- row can be referred to before it is written.

CREATE TABLE product (
    sku        text          PRIMARY KEY CHECK (sku ~ '^[A-Za-z0-9._-]{1,64}$'),
    id         bigint        NOT NULL GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    seller_id  text          NOT NULL,
    name       text          NOT NULL,
    price      numeric(19,4) NOT NULL CHECK (price > 0),
    currency   text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    on_hand    bigint        NOT NULL CHECK (on_hand >= 0),
    reserved   bigint        NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    created_at timestamptz   NOT NULL,
    updated_at timestamptz   NOT NULL,
    CHECK (reserved <= on_hand)
) WITH (fillfactor = 50); -- stock changes all the time: room for updates in place

CREATE INDEX product_newest ON product (created_at DESC, id DESC);

CREATE TABLE orders (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    customer_id     text          NOT NULL,
    seller_id       text          NOT NULL,
    status          text          NOT NULL CHECK (status IN ('pending_payment', 'payment_processing',
                                      'paid', 'fulfilling', 'shipped', 'delivered', 'cancelled')),
    total           numeric(19,4) NOT NULL CHECK (total > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    held_until      timestamptz,
    version         bigint        NOT NULL CHECK (version > 0),
    created_by      text          NOT NULL,
    idempotency_key text          NOT NULL,
    cancelled_by    text,
    cancel_key      text,
    cancel_reason   text,
    created_at      timestamptz   NOT NULL,
    updated_at      timestamptz   NOT NULL,
    CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL)),
    CHECK (held_until IS NULL OR status IN ('pending_payment', 'payment_processing')),
    -- AUTH-19, the second line: one operation makes one order, for ever. The actor is
    -- part of it: a customer and a seller may use the same key for the same customer.
    UNIQUE (customer_id, created_by, idempotency_key)
) WITH (fillfactor = 80);

CREATE INDEX orders_of_customer ON orders (customer_id, created_at DESC, id DESC);
CREATE INDEX orders_of_seller ON orders (seller_id, created_at DESC, id DESC);
CREATE INDEX orders_newest ON orders (created_at DESC, id DESC);
CREATE INDEX orders_held ON orders (held_until) WHERE held_until IS NOT NULL;

CREATE TABLE order_item (
    order_id   bigint        NOT NULL REFERENCES orders,
    line       int           NOT NULL,
    sku        text          NOT NULL,
    quantity   int           NOT NULL CHECK (quantity > 0),
    unit_price numeric(19,4) NOT NULL CHECK (unit_price > 0),
    PRIMARY KEY (order_id, line),
    UNIQUE (order_id, sku)
);

-- AUTH-19, the second line: one operation renews a hold once, for ever.
CREATE TABLE reservation (
    order_id        bigint      NOT NULL REFERENCES orders,
    created_by      text        NOT NULL,
    idempotency_key text        NOT NULL,
    held_until      timestamptz NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (order_id, created_by, idempotency_key)
);

CREATE TABLE payment (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    order_id        bigint        NOT NULL REFERENCES orders,
    idempotency_key text          NOT NULL,
    amount          numeric(19,4) NOT NULL CHECK (amount > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    method          text          NOT NULL CHECK (method IN ('balance', 'card')),
    status          text          NOT NULL CHECK (status IN ('processing', 'captured', 'failed')),
    created_by      text          NOT NULL,
    created_at      timestamptz   NOT NULL DEFAULT now(),
    -- AUTH-19, the second line: one operation makes one payment, for ever.
    UNIQUE (order_id, idempotency_key)
);

-- Another key does not make another payment: an order has at most one that is live.
CREATE UNIQUE INDEX payment_one_live ON payment (order_id) WHERE status IN ('processing', 'captured');

CREATE TABLE refund (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    payment_id      bigint        NOT NULL REFERENCES payment,
    order_id        bigint        NOT NULL REFERENCES orders,
    idempotency_key text,         -- none when a cancellation refunded: that has its own
    amount          numeric(19,4) NOT NULL CHECK (amount > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    status          text          NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    reason          text          NOT NULL DEFAULT '',
    rest            boolean       NOT NULL, -- all that was left, no amount named
    created_by      text          NOT NULL,
    created_at      timestamptz   NOT NULL DEFAULT now(),
    -- AUTH-19, the second line: one operation makes one refund, for ever.
    UNIQUE (payment_id, created_by, idempotency_key)
);

CREATE INDEX refund_of_order ON refund (order_id);

CREATE TABLE balance (
    customer_id text          NOT NULL,
    currency    text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount      numeric(19,4) NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (customer_id, currency)
) WITH (fillfactor = 50); -- balances change all the time: room for updates in place

-- One row moves money from one account to another: the books balance by construction.
CREATE TABLE movement (
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
    -- AUTH-19, the second line: one operation moves a balance once, for ever.
    UNIQUE (customer_id, created_by, idempotency_key)
);

CREATE INDEX movement_of_customer ON movement (customer_id, created_at DESC, id DESC);

-- Who customers are: the only personal data here (AUTH-16).
CREATE TABLE customer_profile (
    customer_id text        PRIMARY KEY,
    full_name   text        NOT NULL,
    email       text        NOT NULL,
    phone       text        NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- What happened, for the outside: written with the change itself (R-DIST-OBX).
CREATE TABLE outbox (
    id         bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    type       text        NOT NULL,
    aggregate  text        NOT NULL,
    data       jsonb       NOT NULL,
    created_at timestamptz NOT NULL
);

-- What administrators did and saw (AUTH-12, AUTH-15).
CREATE TABLE audit_log (
    id       bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    actor    text        NOT NULL,
    at       timestamptz NOT NULL,
    action   text        NOT NULL,
    resource text        NOT NULL,
    metadata jsonb       NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_log_newest ON audit_log (at DESC, id DESC);
