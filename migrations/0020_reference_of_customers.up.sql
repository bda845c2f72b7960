-- The version before looks references up by customer, in orders_creator_reference from now on.
-- It still refuses a reference of another creator, until it is replaced.
--
-- contracts: orders_reference, orders_creator_reference serves the same look-ups since 0.1.0
DROP INDEX CONCURRENTLY orders_reference;
