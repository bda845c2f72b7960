-- Lists by reference show a customer or a seller the orders that they created. As with the
-- other lists (migration 16), the condition that is always true keeps other queries from this
-- index while the table is empty.
CREATE INDEX CONCURRENTLY orders_of_creator_by_reference ON orders (created_by, reference, status, created_at DESC, id DESC)
    WHERE reference <> '' AND created_by >= '';
