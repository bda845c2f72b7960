-- The trace in which an event was written, as a traceparent of W3C Trace Context, so that
-- whoever publishes and consumes the event continues it. It is NULL where nothing is traced,
-- and in what the previous binary writes.
ALTER TABLE outbox ADD COLUMN traceparent text;
