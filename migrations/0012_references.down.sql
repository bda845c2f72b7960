ALTER TABLE orders DROP COLUMN reference;
DROP INDEX ledger_entry_reference;
