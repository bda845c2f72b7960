DROP INDEX orders_reserved_until;
CREATE INDEX orders_reserved_until ON orders (reserved_until) WHERE reserved_until IS NOT NULL;
DROP INDEX refund_undecided;
DROP INDEX payment_undecided;
