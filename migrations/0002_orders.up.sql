-- Products and their stock, orders and their reservations.
--
-- Constraints repeat the rules that matter: the core decides, and the database refuses
-- what the core should never have written. IDs step by 100: each process draws them in
-- blocks of 100, so that a row can be referred to before it is written.

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
) WITH (fillfactor = 50); -- stock changes often: leave room for updates in place

CREATE INDEX product_newest ON product (created_at DESC, id DESC);

CREATE TABLE orders (
    id              bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    customer_id     text          NOT NULL,
    seller_id       text          NOT NULL,
    status          text          NOT NULL CHECK (status IN ('pending_payment', 'payment_processing',
                                      'paid', 'fulfilling', 'shipped', 'delivered', 'cancelled')),
    total           numeric(19,4) NOT NULL CHECK (total > 0),
    currency        text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    reserved_until  timestamptz,
    version         bigint        NOT NULL CHECK (version > 0),
    created_by      text          NOT NULL,
    idempotency_key text          NOT NULL,
    cancelled_by    text,
    cancel_key      text,
    cancel_reason   text,
    created_at      timestamptz   NOT NULL,
    updated_at      timestamptz   NOT NULL,
    CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL)),
    CHECK (reserved_until IS NULL OR status IN ('pending_payment', 'payment_processing')),
    -- AUTH-19, the second line of defence: one operation creates one order, for ever. The
    -- actor is part of it: a customer and a seller may use the same key for one customer.
    UNIQUE (customer_id, created_by, idempotency_key)
) WITH (fillfactor = 80);

-- One index for each kind of list. They begin with what a reader may ask for, so that a
-- list without a status reads a page of each status.
--
-- Each holds every order: its condition is always true. A query that does not repeat the
-- condition cannot use the index. While a table is empty, all its indexes cost the same,
-- and a look-up by id or by operation would otherwise be planned with any of them.
CREATE INDEX orders_newest ON orders (status, created_at DESC, id DESC) WHERE id > 0;
CREATE INDEX orders_of_customer ON orders (customer_id, status, created_at DESC, id DESC) WHERE customer_id >= '';
CREATE INDEX orders_of_seller ON orders (seller_id, status, created_at DESC, id DESC) WHERE seller_id >= '';
CREATE INDEX orders_of_seller_and_customer ON orders (seller_id, customer_id, status, created_at DESC, id DESC)
    WHERE seller_id || customer_id >= '';
CREATE INDEX orders_reserved_until ON orders (reserved_until) WHERE reserved_until IS NOT NULL;

CREATE TABLE order_item (
    order_id   bigint        NOT NULL REFERENCES orders,
    line       int           NOT NULL,
    sku        text          NOT NULL,
    quantity   int           NOT NULL CHECK (quantity > 0),
    unit_price numeric(19,4) NOT NULL CHECK (unit_price > 0),
    PRIMARY KEY (order_id, line),
    UNIQUE (order_id, sku)
);

-- AUTH-19, the second line of defence: one operation extends a reservation once, for ever.
CREATE TABLE reservation_extension (
    order_id        bigint      NOT NULL REFERENCES orders,
    created_by      text        NOT NULL,
    idempotency_key text        NOT NULL,
    reserved_until  timestamptz NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (order_id, created_by, idempotency_key)
);
