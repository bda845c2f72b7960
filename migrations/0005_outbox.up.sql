-- The outbox is relayed to the broker: what has left is marked, and goes away later.
ALTER TABLE outbox
    -- The version of the shape of data: a newer binary publishes what an older one wrote.
    ADD COLUMN schema_version smallint NOT NULL DEFAULT 1 CHECK (schema_version > 0),
    ADD COLUMN published_at   timestamptz;

-- The next batch is always the lowest ids that have not left. A reader that remembers
-- the last id instead loses rows: ids are not given in the order of commits.
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

-- One replica relays at a time, so that the events of an aggregate leave in their order.
CREATE TABLE relay_lease (
    the_only boolean     PRIMARY KEY DEFAULT true CHECK (the_only),
    holder   text        NOT NULL,
    until    timestamptz NOT NULL
);

INSERT INTO relay_lease (holder, until) VALUES ('', '-infinity');
