-- Lists of payments by status and method. As with the lists of orders (migration 16), the
-- condition that is always true keeps other queries from this index while the table is empty.
CREATE INDEX CONCURRENTLY payment_by_status ON payment (status, method, created_at DESC, id DESC) WHERE id > 0;
