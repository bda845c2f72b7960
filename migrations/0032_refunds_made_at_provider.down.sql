ALTER TABLE refund DROP COLUMN made_at_provider;
