DROP TABLE relay_lease;
ALTER TABLE outbox DROP COLUMN published_at, DROP COLUMN schema_version; -- and the index with the first
