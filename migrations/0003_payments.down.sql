DROP TABLE ledger_entry, balance, refund, payment;
