ALTER TABLE outbox DROP COLUMN dispatched_at;
DROP TABLE webhook_delivery;
DROP TABLE webhook_endpoint;
