ALTER TABLE refund DROP COLUMN failure;
