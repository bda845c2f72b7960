-- ConfirmPayment: the same reads, locks and rows as the service, in one transaction with
-- one round trip per statement. The name above a statement is the service's query for the
-- same rows; the statement has its form for one command. The orders exist before the run;
-- an order's id determines its customer and products.
\set order :first_order + :iteration * :clients + :client_id
\set iteration :iteration + 1
\set customer :order % :buyers + 1
\set sku1 :order % :middle_sku + 1
\set sku2 :order % :middle_sku + :middle_sku + 1
\set key random(1000000000000000000, 8999999999999999999)
BEGIN;
-- name: ClaimKeys
SELECT pg_try_advisory_xact_lock(:key) AS locked, now()::timestamptz AS now, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;
-- name: FindRecords
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :issuer || ' ' || :customer AND r.key = :key;
-- name: OrdersExist
SELECT EXISTS (SELECT FROM orders WHERE id = :order);
-- name: LockOrder
SELECT o.*, i.* FROM orders o JOIN order_item i ON i.order_id = o.id WHERE o.id = :order AND (false OR o.customer_id = :customer OR o.seller_id = NULL) ORDER BY i.line FOR UPDATE OF o;
-- name: LockStockOfOrder
SELECT * FROM product WHERE sku = ANY(ARRAY(SELECT i.sku FROM order_item i JOIN orders o ON o.id = i.order_id WHERE i.order_id = :order AND (false OR o.customer_id = :customer OR o.seller_id = NULL))) ORDER BY sku FOR UPDATE;
-- name: PaymentsOfOrders
SELECT * FROM payment WHERE order_id = :order ORDER BY id + 0;
-- name: RefundsOfOrders
SELECT * FROM refund WHERE order_id = :order ORDER BY id + 0;
-- name: DisputesOfOrders
SELECT * FROM dispute WHERE order_id = :order ORDER BY created_at DESC, external_id DESC;
-- name: LockBalanceOfOrder
SELECT * FROM balance WHERE (customer_id, currency) = (SELECT o.customer_id, o.currency FROM orders o WHERE o.id = :order AND (false OR o.customer_id = :customer OR o.seller_id = NULL)) FOR UPDATE \gset
\if :payments_used = 100
SELECT nextval('payment_id_seq') AS payments_from \gset
\set payments_used 0
\endif
\set payment :payments_from + :payments_used
\set payments_used :payments_used + 1
\if :ledger_entries_used = 100
SELECT nextval('ledger_entry_id_seq') AS ledger_entries_from \gset
\set ledger_entries_used 0
\endif
\set ledger_entry :ledger_entries_from + :ledger_entries_used
\set ledger_entries_used :ledger_entries_used + 1
-- name: UpdateStockOfMany
UPDATE product SET on_hand = on_hand - 1, reserved = reserved - 1, version = version + 1 WHERE sku = ANY(ARRAY[:sku1, :sku2]::text[]);
-- name: UpdateOrder
UPDATE orders SET status = 'paid', reserved_until = NULL, version = 2, updated_at = now(), cancelled_by = NULL, cancel_key = NULL, cancel_reason = NULL WHERE id = :order;
-- name: InsertPayments
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at) OVERRIDING SYSTEM VALUE
VALUES (:payment, :order, :key, 2.00, 'RUB', 'balance', 'captured', :customer, now());
-- name: UpdateBalance
UPDATE balance SET amount = :amount::numeric - 2.00, position = :position + 1, changed_at = now() WHERE customer_id = :customer AND currency = 'RUB';
-- name: InsertLedgerEntry
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at) OVERRIDING SYSTEM VALUE
VALUES (:ledger_entry, 'payment', 'customer/' || :customer, 'seller/shop', 2.00, 'RUB', :customer, :amount::numeric - 2.00, :position + 1, :payment, NULL, '', '', NULL, NULL, now());
-- name: InsertEvents
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at)
VALUES (gen_random_uuid(), (SELECT i.id FROM incarnation i WHERE i.singleton), 'order.paid', 'order/' || :order, :event1, now()),
       (gen_random_uuid(), (SELECT i.id FROM incarnation i WHERE i.singleton), 'balance.payment', 'balance/' || :customer, :event2, now()),
       (gen_random_uuid(), (SELECT i.id FROM incarnation i WHERE i.singleton), 'payment.captured', 'payment/' || :payment, :event3, now());
-- name: InsertRecord
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
VALUES (:issuer || ' ' || :customer, :key, :fingerprint, 'confirmPayment', 200, 'application/json', '', :body, now(), now() + interval '72 hours');
COMMIT;
