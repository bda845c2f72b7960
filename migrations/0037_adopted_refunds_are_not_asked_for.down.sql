ALTER TABLE refund DROP CONSTRAINT refund_made_at_provider_check;
