-- A transaction of the card provider about a dispute moves an amount and a fee once each.
--
-- accepts: ledger_entry_transaction, the version before writes no such entries
CREATE UNIQUE INDEX CONCURRENTLY ledger_entry_transaction ON ledger_entry (reference, kind)
    WHERE kind IN ('dispute', 'dispute_fee');
