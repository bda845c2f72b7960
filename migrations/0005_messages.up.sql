-- Messages to and from other services.

-- The outbox: events wait here, written with the change that they are about, until the
-- broker has them (R-DIST-OBX).
CREATE TABLE outbox (
    id             bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    type           text        NOT NULL,
    aggregate      text        NOT NULL,
    data           jsonb       NOT NULL,
    -- The version of the schema of data: a newer binary publishes what an older one wrote.
    schema_version smallint    NOT NULL DEFAULT 1 CHECK (schema_version > 0),
    created_at     timestamptz NOT NULL,
    published_at   timestamptz
);

-- The next batch is always the lowest ids that are not published. A reader that remembers
-- its last id loses rows, because transactions do not commit in the order of their ids.
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

-- One replica relays at a time, so that the events of an aggregate are published in order.
CREATE TABLE relay_lease (
    singleton boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    holder    text        NOT NULL,
    until     timestamptz NOT NULL
);

INSERT INTO relay_lease (holder, until) VALUES ('', '-infinity');

-- The transaction of its effect records a message, so that it takes effect once
-- (R-DIST-IDEM-1).
CREATE TABLE processed_message (
    source       text        NOT NULL,
    message_id   text        NOT NULL,
    processed_at timestamptz NOT NULL,
    PRIMARY KEY (source, message_id)
);

CREATE INDEX processed_message_age ON processed_message (processed_at);
