-- A reference is unique among the orders that one actor creates for one customer. A seller
-- may order for any customer, so a seller could otherwise take the references of a customer,
-- or learn which are taken.
--
-- A cancelled order keeps its reference, so that a request which is repeated late, under
-- whichever key, makes no second order.
--
-- accepts: orders_creator_reference, orders_reference refuses more than it does
CREATE UNIQUE INDEX CONCURRENTLY orders_creator_reference ON orders (customer_id, reference, created_by)
    WHERE reference <> '';
