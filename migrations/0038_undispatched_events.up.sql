CREATE INDEX CONCURRENTLY outbox_undispatched ON outbox (id) WHERE dispatched_at IS NULL;
