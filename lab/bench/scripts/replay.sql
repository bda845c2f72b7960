-- Replay: one primary key look-up of the idempotency record. A process that has the
-- response in memory does less than this.
\set key random(:first_key, :last_key)
-- name: FindRecord
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :scope AND r.key = :key;
