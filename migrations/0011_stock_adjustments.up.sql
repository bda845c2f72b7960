-- Changes of a product's stock by a difference, and the version of a product.

-- It grows with every change of name, price or quantity on hand, so that stock is replaced
-- only by somebody who knows it. A reservation does not change it.
ALTER TABLE product ADD COLUMN version bigint NOT NULL DEFAULT 1 CHECK (version > 0);

CREATE TABLE stock_adjustment (
    id              bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY (INCREMENT BY 100),
    sku             text        NOT NULL REFERENCES product,
    change          bigint      NOT NULL CHECK (change <> 0),
    on_hand         bigint      NOT NULL CHECK (on_hand >= 0), -- after the change
    reason          text        NOT NULL DEFAULT '',
    created_by      text        NOT NULL,
    idempotency_key text        NOT NULL,
    created_at      timestamptz NOT NULL,
    -- AUTH-19, the second line of defence: one operation adjusts a product once, for ever.
    UNIQUE (sku, created_by, idempotency_key)
);
