-- NaN is a value of numeric, equals itself and is greater than any number, so it passes
-- amount > 0, and the service cannot read it. The precision already refuses infinity.
--
-- The tables are locked in the order of the commands. The next migration validates.
--
-- accepts: orders_total_is_number, no version writes NaN
-- accepts: order_item_unit_price_is_number, no version writes NaN
-- accepts: payment_amount_is_number, no version writes NaN
-- accepts: refund_amount_is_number, no version writes NaN
-- accepts: product_price_is_number, no version writes NaN
-- accepts: balance_amount_is_number, no version writes NaN
-- accepts: ledger_entry_amount_is_number, no version writes NaN
-- accepts: ledger_entry_balance_after_is_number, no version writes NaN
ALTER TABLE orders ADD CONSTRAINT orders_total_is_number CHECK (total <> 'NaN') NOT VALID;
ALTER TABLE order_item ADD CONSTRAINT order_item_unit_price_is_number CHECK (unit_price <> 'NaN') NOT VALID;
ALTER TABLE payment ADD CONSTRAINT payment_amount_is_number CHECK (amount <> 'NaN') NOT VALID;
ALTER TABLE refund ADD CONSTRAINT refund_amount_is_number CHECK (amount <> 'NaN') NOT VALID;
ALTER TABLE product ADD CONSTRAINT product_price_is_number CHECK (price <> 'NaN') NOT VALID;
ALTER TABLE balance ADD CONSTRAINT balance_amount_is_number CHECK (amount <> 'NaN') NOT VALID;
ALTER TABLE ledger_entry
    ADD CONSTRAINT ledger_entry_amount_is_number CHECK (amount <> 'NaN') NOT VALID,
    ADD CONSTRAINT ledger_entry_balance_after_is_number CHECK (balance_after <> 'NaN') NOT VALID;
