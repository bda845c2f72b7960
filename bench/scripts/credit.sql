-- CreditBalance, a statement a round trip: the reads, locks and rows of the service.
\set customer random(:first_customer, :last_customer)
\set key random(1000000000000000000, 8999999999999999999)
BEGIN;
SELECT pg_try_advisory_xact_lock(:key) AS locked, now()::timestamptz AS now, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :principal AND r.key = :key;
SELECT * FROM balance WHERE customer_id = :customer AND currency = 'RUB' FOR UPDATE \gset
SELECT * FROM ledger_entry WHERE customer_id = :customer AND created_by = 'bank' AND idempotency_key = :key;
\if :transactions_used = 100
SELECT nextval('ledger_entry_id_seq') AS movements_from \gset
\set transactions_used 0
\endif
\set ledger_entry :movements_from + :transactions_used
\set transactions_used :transactions_used + 1
UPDATE balance SET amount = :amount::numeric + 1.00 WHERE customer_id = :customer AND currency = 'RUB';
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at) OVERRIDING SYSTEM VALUE
VALUES (:ledger_entry, 'credit', 'world', 'customer/' || :customer, 1.00, 'RUB', :customer, :amount::numeric + 1.00, NULL, NULL, '', '', 'bank', :key, now());
INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('balance.credit', 'balance/' || :customer, :event1, now());
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
VALUES (:principal, :key, :fingerprint, 'creditBalance', 201, 'application/json', '', :body, now(), now() + interval '72 hours');
COMMIT;
