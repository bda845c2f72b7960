-- Cards: what the provider knows of payments and refunds, and the messages from
-- outside that have been done.

ALTER TABLE payment
    ADD COLUMN provider            text CHECK (provider IN ('stripe')),
    ADD COLUMN external_payment_id text,
    ADD COLUMN card_token          text,
    ADD COLUMN failure             text,
    ADD CONSTRAINT payment_method_fits CHECK ((method = 'card') = (card_token IS NOT NULL)),
    ADD CONSTRAINT payment_provider_fits CHECK ((method = 'card') = (provider IS NOT NULL)),
    -- One charge of the provider is one payment here, for ever (R-DIST-IDEM-4).
    ADD CONSTRAINT payment_external UNIQUE (provider, external_payment_id);

ALTER TABLE refund
    ADD COLUMN external_refund_id text UNIQUE;

-- A message is noted in the transaction of its effect, and so done once (R-DIST-IDEM-1).
CREATE TABLE processed_message (
    source       text        NOT NULL,
    message_id   text        NOT NULL,
    processed_at timestamptz NOT NULL,
    PRIMARY KEY (source, message_id)
);
