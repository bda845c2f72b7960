DROP INDEX ledger_entry_transaction;
