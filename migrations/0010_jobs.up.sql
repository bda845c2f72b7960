-- What jobs go through in order.

-- The payments and refunds that the card provider has not decided.
CREATE INDEX payment_undecided ON payment (created_at, id) WHERE status = 'processing';
CREATE INDEX refund_undecided ON refund (created_at, id) WHERE status = 'pending';

-- The reservations of orders that wait for payment, by when they expire.
DROP INDEX orders_reserved_until;
CREATE INDEX orders_reserved_until ON orders (reserved_until, id)
    WHERE status = 'pending_payment' AND reserved_until IS NOT NULL;
