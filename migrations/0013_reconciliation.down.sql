DROP INDEX payment_by_card;
DROP INDEX ledger_entry_of_payment;
DROP TABLE reconciliation;
