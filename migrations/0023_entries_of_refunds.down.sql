DROP INDEX ledger_entry_of_refund;
