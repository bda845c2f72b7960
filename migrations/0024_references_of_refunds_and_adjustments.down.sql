ALTER TABLE stock_adjustment DROP COLUMN reference;
ALTER TABLE refund DROP COLUMN reference;
