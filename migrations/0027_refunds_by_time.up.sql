-- Reconciliation reads recent refunds, also those of old payments. As in migration 22, the
-- condition that is always true keeps other queries from this index while the table is empty.
CREATE INDEX CONCURRENTLY refund_by_time ON refund (created_at, id) WHERE id > 0;
