ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_balance_after_is_number, DROP CONSTRAINT ledger_entry_amount_is_number;
ALTER TABLE balance DROP CONSTRAINT balance_amount_is_number;
ALTER TABLE product DROP CONSTRAINT product_price_is_number;
ALTER TABLE refund DROP CONSTRAINT refund_amount_is_number;
ALTER TABLE payment DROP CONSTRAINT payment_amount_is_number;
ALTER TABLE order_item DROP CONSTRAINT order_item_unit_price_is_number;
ALTER TABLE orders DROP CONSTRAINT orders_total_is_number;
