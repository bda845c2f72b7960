-- The unpaid orders of a customer by who created them, which CreateOrder counts.
--
-- The last condition is always true. Only the query that counts repeats it, so that no
-- other is planned with this index while the table is empty.
CREATE INDEX orders_unpaid ON orders (customer_id, created_by)
    WHERE status IN ('pending_payment', 'payment_processing') AND created_by >= '';
