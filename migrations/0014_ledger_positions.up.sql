-- The entries of one balance have positions: 1, 2, 3 … in the order in which they changed
-- the balance. Its row knows the last one, and the time of it. An entry is younger than the
-- one before it, so that a list by time follows the positions: a transaction that began
-- earlier may have waited for the balance.
--
-- 0 is for entries that change no balance, and for those that the previous binary writes
-- during an upgrade.
ALTER TABLE balance
    ADD COLUMN position   bigint      NOT NULL DEFAULT 0 CHECK (position >= 0),
    ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE ledger_entry ADD COLUMN position bigint NOT NULL DEFAULT 0 CHECK (position >= 0);

-- Entries that exist take their places by time. Where that contradicts their balances, the
-- oldest entry that fits the balance before it is next, and takes a later time.
DO $$
DECLARE
    b    record;
    e    record;
    held numeric;
    n    bigint;
    at   timestamptz;
BEGIN
    CREATE TEMP TABLE unplaced ON COMMIT DROP AS
    SELECT id, customer_id, currency, created_at, balance_after,
           balance_after - CASE WHEN credit = 'customer/' || customer_id THEN amount ELSE -amount END AS balance_before
    FROM ledger_entry WHERE customer_id IS NOT NULL;
    CREATE INDEX ON unplaced (customer_id, currency, created_at, id);
    CREATE INDEX ON unplaced (customer_id, currency, balance_before, created_at, id);
    CREATE INDEX ON unplaced (id);
    ANALYZE unplaced;
    FOR b IN SELECT customer_id, currency FROM balance LOOP
        held := 0;
        n := 0;
        at := NULL;
        LOOP
            SELECT * INTO e FROM unplaced u
            WHERE u.customer_id = b.customer_id AND u.currency = b.currency AND u.balance_before = held
            ORDER BY u.created_at, u.id LIMIT 1;
            IF NOT FOUND THEN
                SELECT * INTO e FROM unplaced u
                WHERE u.customer_id = b.customer_id AND u.currency = b.currency
                ORDER BY u.created_at, u.id LIMIT 1;
            END IF;
            EXIT WHEN NOT FOUND;
            held := e.balance_after;
            n := n + 1;
            at := greatest(e.created_at, at + interval '1 microsecond');
            DELETE FROM unplaced WHERE id = e.id;
            UPDATE ledger_entry SET position = n, created_at = at WHERE id = e.id;
        END LOOP;
        UPDATE balance SET position = n, changed_at = coalesce(at, changed_at)
        WHERE customer_id = b.customer_id AND currency = b.currency;
    END LOOP;
END $$;

-- Two changes of one balance never take the same place.
CREATE UNIQUE INDEX ledger_entry_position ON ledger_entry (customer_id, currency, position) WHERE position > 0;
