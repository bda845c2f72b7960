DROP TABLE processed_message, relay_lease, outbox;
