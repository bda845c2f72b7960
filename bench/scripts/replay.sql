-- A replay can be no cheaper than the record by its key.
\set key random(:first_key, :last_key)
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :principal AND r.key = :key;
