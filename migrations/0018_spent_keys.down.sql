ALTER TABLE idempotency_record DROP COLUMN replayed_for;
