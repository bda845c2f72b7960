DROP TABLE stock_adjustment;
