DROP INDEX processed_message_age;
