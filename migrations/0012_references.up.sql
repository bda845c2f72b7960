-- A reference is the caller's own id of what an operation is for. A new Idempotency-Key
-- makes a new operation, so no key can stop an intent that is sent under two keys. The
-- reference can: it is unique when it is sent.
--
-- References were not unique before. The migration cannot decide which of two equal ones
-- to change, so it fails and leaves both.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM ledger_entry WHERE customer_id IS NOT NULL AND reference <> ''
        GROUP BY customer_id, kind, reference HAVING count(*) > 1
    ) THEN
        RAISE EXCEPTION 'some ledger entries of one customer and kind have the same reference, '
            'which must be unique from version 12 on: make them differ, set schema_migrations '
            'back to the version before 12 and to not dirty, and migrate again';
    END IF;
END $$;

-- The condition without a parameter is repeated by the queries that may use the index.
CREATE UNIQUE INDEX ledger_entry_reference ON ledger_entry (customer_id, kind, reference) WHERE reference <> '';

ALTER TABLE orders ADD COLUMN reference text NOT NULL DEFAULT '' CHECK (char_length(reference) <= 64);

CREATE UNIQUE INDEX orders_reference ON orders (customer_id, reference) WHERE reference <> '';
