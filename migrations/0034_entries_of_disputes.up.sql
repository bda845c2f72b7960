-- Money that a dispute moves has entries of new kinds. The version before writes none, and
-- lists none, because they change no balance of a customer.
--
-- accepts: ledger_entry_kind_check, it is wider
ALTER TABLE ledger_entry
    DROP CONSTRAINT ledger_entry_kind_check,
    ADD CONSTRAINT ledger_entry_kind_check
        CHECK (kind IN ('credit', 'charge', 'payment', 'refund', 'dispute', 'dispute_fee')) NOT VALID;
