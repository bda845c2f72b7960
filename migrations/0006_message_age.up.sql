-- Notes of old messages are found by their age.
CREATE INDEX processed_message_age ON processed_message (processed_at);
