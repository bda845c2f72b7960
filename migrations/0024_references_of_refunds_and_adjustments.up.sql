-- The caller's own id of a refund, and of an adjustment of stock (migration 12): neither has a
-- status that would stop a second one, which is sent under another key.
--
-- Old rows, and those of the version before, have none. Later migrations make it unique.
ALTER TABLE refund ADD COLUMN reference text NOT NULL DEFAULT '';
ALTER TABLE stock_adjustment ADD COLUMN reference text NOT NULL DEFAULT '';
