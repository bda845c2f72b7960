-- The unpaid orders of a customer by who created them, which CreateOrder counts.
--
-- The last condition is always true. Only the query that counts repeats it, so that no
-- other is planned with this index while the table is empty.
CREATE INDEX orders_unpaid ON orders (customer_id, created_by)
    WHERE status IN ('pending_payment', 'payment_processing') AND created_by >= '';

-- The statistics of a column hold values of its rows, and keep them when the rows are
-- deleted. No query looks for the members of a profile, so none need be collected. A change
-- of type, to the same one, drops those that exist.
ALTER TABLE customer_profile
    ALTER COLUMN full_name TYPE text, ALTER COLUMN full_name SET STATISTICS 0,
    ALTER COLUMN email TYPE text, ALTER COLUMN email SET STATISTICS 0,
    ALTER COLUMN phone TYPE text, ALTER COLUMN phone SET STATISTICS 0;
