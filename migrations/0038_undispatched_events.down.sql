DROP INDEX outbox_undispatched;
