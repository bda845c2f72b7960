-- It fails if two creators have used one reference for a customer.
CREATE UNIQUE INDEX orders_reference ON orders (customer_id, reference) WHERE reference <> '';
