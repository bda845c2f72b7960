-- Commands write while a table is validated.
ALTER TABLE refund VALIDATE CONSTRAINT refund_made_at_provider_check;
ALTER TABLE ledger_entry VALIDATE CONSTRAINT ledger_entry_kind_check;
