-- name: FindMessage :many
SELECT processed_at FROM processed_message WHERE source = @source AND message_id = @message_id;

-- name: InsertMessage :exec
INSERT INTO processed_message (source, message_id, processed_at) VALUES (@source, @message_id, @processed_at);

-- name: DeleteOldMessages :execrows
-- Batches, the oldest first, of messages that nobody sends again.
DELETE FROM processed_message WHERE ctid = ANY(ARRAY(
    SELECT m.ctid FROM processed_message m
    WHERE m.processed_at < statement_timestamp() - interval '30 days'
    ORDER BY m.processed_at
    LIMIT @max_messages
    FOR UPDATE SKIP LOCKED
));
