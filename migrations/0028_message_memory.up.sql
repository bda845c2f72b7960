-- Until when copies of the message were sent: the time of its last delivery or, if that
-- clock is ahead, the time by the clock of the sender, which is the broker or the card
-- provider. NULL in what the previous binary writes.
ALTER TABLE processed_message ADD COLUMN sent_until timestamptz;

-- Where the memory of messages begins: the latest sent_until of all that were deleted. A
-- message sent until then may have been processed, although no row says so.
--
-- The previous binary deletes after 30 days and records nothing. It has a day to end.
CREATE TABLE message_memory (
    singleton       boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    forgotten_until timestamptz NOT NULL
);

INSERT INTO message_memory (forgotten_until) VALUES (now() - interval '29 days');
