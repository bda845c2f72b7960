-- Reconciliation goes through all rows in passes of small steps. This row says how far the
-- pass has come, and how the last complete one ended. All replicas report it.
CREATE TABLE reconciliation (
    singleton   boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    version     bigint      NOT NULL DEFAULT 0, -- counts the steps: two replicas never save the same one
    -- The pass that has begun: what comes next, empty before its first step, and the
    -- mismatches that it has found.
    position    text        NOT NULL DEFAULT '',
    found       bigint      NOT NULL DEFAULT 0,
    -- The last complete pass.
    mismatches  bigint      NOT NULL DEFAULT 0,
    finished_at timestamptz
);

INSERT INTO reconciliation DEFAULT VALUES;

-- What a step looks up: the entries of a payment, and card payments by their time.
CREATE INDEX ledger_entry_of_payment ON ledger_entry (payment_id) WHERE kind = 'payment';
CREATE INDEX payment_by_card ON payment (created_at, id) WHERE method = 'card';
