ALTER TABLE outbox DROP COLUMN event_id, DROP COLUMN incarnation;
DROP TABLE incarnation;
