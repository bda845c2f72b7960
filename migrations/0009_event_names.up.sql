-- Events get names that no other database repeats. A number of a sequence does not do: a
-- database that was restored to an earlier moment gives its numbers a second time, and
-- whoever remembers the first event drops the second one as a duplicate.

-- The name of this incarnation of the database, and the database that it was given to: a
-- process that starts on another one renews it. The first start finds no database here.
CREATE TABLE incarnation (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    id        uuid    NOT NULL,
    database  text    NOT NULL
);

INSERT INTO incarnation (id, database) VALUES (gen_random_uuid(), '');

-- The service makes the ids of new events, version 7, so that the index grows at its end.
-- Events that exist get random ones: an id only has to be unique, and the order of events
-- is that of the column id. One that was published under its number, and not marked, is
-- published under its new name once.
--
-- The default is for events that the previous binary writes during an upgrade.
ALTER TABLE outbox ADD COLUMN event_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE;

-- The incarnation that wrote the event. An event that is published a second time, after a
-- failover, keeps it.
ALTER TABLE outbox ADD COLUMN incarnation uuid;
UPDATE outbox SET incarnation = (SELECT id FROM incarnation);
ALTER TABLE outbox ALTER COLUMN incarnation SET NOT NULL;

-- The previous binary does not name the incarnation. During an upgrade it is this one.
DO $$ BEGIN
    EXECUTE format('ALTER TABLE outbox ALTER COLUMN incarnation SET DEFAULT %L', (SELECT id FROM incarnation));
END $$;
