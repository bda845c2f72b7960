-- Reconciliation compares each refund with its entries.
CREATE INDEX CONCURRENTLY ledger_entry_of_refund ON ledger_entry (refund_id) WHERE refund_id IS NOT NULL;
