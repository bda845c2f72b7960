-- CreditBalance: the same reads, locks and rows as the service, in one transaction with
-- one round trip per statement. The name above a statement is the service's query for the
-- same rows; the statement has its form for one command.
\set customer random(:first_customer, :last_customer)
\set key random(1000000000000000000, 8999999999999999999)
BEGIN;
-- name: ClaimKeys
SELECT pg_try_advisory_xact_lock(:key) AS locked, now()::timestamptz AS now, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;
-- name: FindRecords
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :scope AND r.key = :key;
-- name: LockBalance
SELECT * FROM balance WHERE customer_id = :customer AND currency = 'RUB' FOR UPDATE \gset
-- name: LedgerEntriesByOperation
SELECT * FROM ledger_entry WHERE customer_id = :customer AND created_by = 'bank' AND idempotency_key = :key;
\if :ledger_entries_used = 100
SELECT nextval('ledger_entry_id_seq') AS ledger_entries_from \gset
\set ledger_entries_used 0
\endif
\set ledger_entry :ledger_entries_from + :ledger_entries_used
\set ledger_entries_used :ledger_entries_used + 1
-- name: UpdateBalance
UPDATE balance SET amount = :amount::numeric + 1.00, position = :position + 1, changed_at = now() WHERE customer_id = :customer AND currency = 'RUB';
-- name: InsertLedgerEntry
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at) OVERRIDING SYSTEM VALUE
VALUES (:ledger_entry, 'credit', 'world', 'customer/' || :customer, 1.00, 'RUB', :customer, :amount::numeric + 1.00, :position + 1, NULL, NULL, '', '', 'bank', :key, now());
-- name: InsertEvent
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at)
VALUES (gen_random_uuid(), (SELECT i.id FROM incarnation i WHERE i.singleton), 'balance.credit', 'balance/' || :customer, :event1, now());
-- name: InsertRecord
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
VALUES (:scope, :key, :fingerprint, 'creditBalance', 201, 'application/json', '', :body, now(), now() + interval '72 hours');
COMMIT;
