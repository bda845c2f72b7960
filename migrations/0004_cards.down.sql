DROP TABLE processed_message;

ALTER TABLE refund DROP COLUMN external_refund_id;

ALTER TABLE payment
    DROP COLUMN provider, DROP COLUMN external_payment_id, DROP COLUMN card_token, DROP COLUMN failure;
