-- name: RecallMessage :one
-- One statement, so that a message which is deleted meanwhile is either known or forgotten.
SELECT EXISTS (SELECT FROM processed_message p WHERE p.source = @source AND p.message_id = @message_id) AS known,
       m.forgotten_until
FROM message_memory m WHERE m.singleton;

-- name: InsertMessage :exec
INSERT INTO processed_message (source, message_id, processed_at, sent_until)
VALUES (@source, @message_id, @processed_at, GREATEST(@processed_at, @sent_at::timestamptz));

-- name: RenewMessage :exec
UPDATE processed_message SET processed_at = @processed_at, sent_until = GREATEST(sent_until, @processed_at, @sent_at::timestamptz)
WHERE source = @source AND message_id = @message_id;

-- name: DeleteOldMessages :one
-- Batches, the oldest first. What is deleted moves the beginning of the memory. A row of the
-- previous binary does not say until when copies were sent: clocks differ by less than a day.
WITH deleted AS (
    DELETE FROM processed_message WHERE ctid = ANY(ARRAY(
        SELECT m.ctid FROM processed_message m
        WHERE m.processed_at < statement_timestamp() - interval '30 days'
        ORDER BY m.processed_at
        LIMIT @max_messages
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING COALESCE(sent_until, processed_at + interval '1 day') AS sent_until
), moved AS (
    UPDATE message_memory SET forgotten_until = GREATEST(forgotten_until, (SELECT max(d.sent_until) FROM deleted d))
    WHERE EXISTS (SELECT FROM deleted)
)
SELECT count(*) FROM deleted;
