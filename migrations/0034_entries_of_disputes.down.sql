DELETE FROM ledger_entry WHERE kind IN ('dispute', 'dispute_fee');
ALTER TABLE ledger_entry
    DROP CONSTRAINT ledger_entry_kind_check,
    ADD CONSTRAINT ledger_entry_kind_check CHECK (kind IN ('credit', 'charge', 'payment', 'refund'));
