DROP TABLE stock_adjustment;

ALTER TABLE product DROP COLUMN version;
