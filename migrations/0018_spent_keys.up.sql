-- How long the response is replayed, from created_at on. After that, and until the record
-- expires, the key is spent: nothing runs under it. NULL is as long as the record, as in
-- everything that the previous binary writes.
--
-- The previous binary replays such a refusal until the record expires, and runs nothing.
ALTER TABLE idempotency_record ADD COLUMN replayed_for interval;
