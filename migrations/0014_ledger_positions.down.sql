ALTER TABLE ledger_entry DROP COLUMN position;
ALTER TABLE balance DROP COLUMN position, DROP COLUMN changed_at;
