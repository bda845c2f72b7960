-- Demands of banks to take the money of a charge back, as the card provider reports them.
CREATE TABLE dispute (
    external_id text          PRIMARY KEY,
    payment_id  bigint        NOT NULL REFERENCES payment,
    order_id    bigint        NOT NULL REFERENCES orders,
    amount      numeric(19,4) NOT NULL CONSTRAINT dispute_amount_check CHECK (amount > 0 AND amount <> 'NaN'),
    currency    text          NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    reason      text          NOT NULL,
    status      text          NOT NULL CHECK (status IN ('warning_needs_response', 'warning_under_review', 'warning_closed',
                                                         'needs_response', 'under_review', 'prevented', 'won', 'lost')),
    due_by      timestamptz,
    created_at  timestamptz   NOT NULL
);

CREATE INDEX dispute_of_payment ON dispute (payment_id);
CREATE INDEX dispute_of_order ON dispute (order_id);

-- Those that a bank has not decided, which operators watch and search.
CREATE INDEX dispute_open ON dispute (payment_id, due_by)
    WHERE status IN ('warning_needs_response', 'warning_under_review', 'needs_response', 'under_review');
