-- Commands write while a table is validated.
ALTER TABLE ledger_entry VALIDATE CONSTRAINT ledger_entry_kind_check;
