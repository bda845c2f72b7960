-- CreateOrder with two items: the same reads, locks and rows as the service, in one
-- transaction with one round trip per statement. The name above a statement is the
-- service's query for the same rows; the statement has its form for one command.
\set customer random(1, :buyers)
\set sku1 random(:first_sku, :middle_sku)
\set sku2 random(:middle_sku + 1, :last_sku)
\set key random(1000000000000000000, 8999999999999999999)
BEGIN;
-- name: ClaimKeys
SELECT pg_try_advisory_xact_lock(:key) AS locked, now()::timestamptz AS now, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;
-- name: FindRecords
SELECT r.*, r.expires_at <= clock_timestamp() AS expired FROM idempotency_record r WHERE r.scope = :issuer || ' ' || :customer AND r.key = :key;
-- name: LockCreators
SELECT pg_advisory_xact_lock(0, :customer);
-- name: CountUnpaidOrdersOf
SELECT count(*) FROM (SELECT FROM orders WHERE customer_id = :customer AND created_by = :customer AND status IN ('pending_payment', 'payment_processing') AND created_by >= '' LIMIT 1000000) unpaid;
-- name: OrdersByOperation
SELECT o.*, i.* FROM orders o JOIN order_item i ON i.order_id = o.id WHERE o.id = (SELECT p.id FROM orders p WHERE p.customer_id = :customer AND p.created_by = :customer AND p.idempotency_key = :key) ORDER BY i.line;
-- name: LockProducts
SELECT * FROM product WHERE sku = ANY(ARRAY[:sku1, :sku2]::text[]) ORDER BY sku FOR UPDATE;
\if :orders_used = 100
SELECT nextval('orders_id_seq') AS orders_from \gset
\set orders_used 0
\endif
\set order :orders_from + :orders_used
\set orders_used :orders_used + 1
-- name: UpdateStockOfMany
UPDATE product SET reserved = reserved + 1 WHERE sku = ANY(ARRAY[:sku1, :sku2]::text[]);
-- name: InsertOrders
INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version, created_by, idempotency_key, created_at, updated_at, reference) OVERRIDING SYSTEM VALUE
VALUES (:order, :customer, 'shop', 'pending_payment', 2.00, 'RUB', now() + interval '24 hours', 1, :customer, :key, now(), now(), '');
-- name: InsertItemsOfOrders
INSERT INTO order_item (order_id, line, sku, quantity, unit_price) VALUES (:order, 1, :sku1, 1, 1.00), (:order, 2, :sku2, 1, 1.00);
-- name: InsertEvent
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at)
VALUES (gen_random_uuid(), (SELECT i.id FROM incarnation i WHERE i.singleton), 'order.created', 'order/' || :order, :event1, now());
-- name: InsertRecord
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
VALUES (:issuer || ' ' || :customer, :key, :fingerprint, 'createOrder', 201, 'application/json', '/orders/' || :order, :body, now(), now() + interval '72 hours');
COMMIT;
