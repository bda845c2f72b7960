DROP TABLE message_memory;
ALTER TABLE processed_message DROP COLUMN sent_until;
