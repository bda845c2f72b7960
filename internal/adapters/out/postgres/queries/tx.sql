-- name: Now :one
-- An empty lock timeout leaves the setting as it is.
SELECT now()::timestamptz AS now, pg_postmaster_start_time()::timestamptz AS server_started, pg_is_in_recovery() AS standby,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous,
       set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), current_setting('lock_timeout')), true) AS lock_timeout;

-- name: Durability :one
-- Which crashes a COMMIT of this transaction survives once it is acknowledged.
SELECT current_setting('synchronous_commit') AS level, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;

-- name: DrawOrderID :one
SELECT nextval('orders_id_seq');

-- name: DrawPaymentID :one
SELECT nextval('payment_id_seq');

-- name: DrawRefundID :one
SELECT nextval('refund_id_seq');

-- name: DrawLedgerEntryID :one
SELECT nextval('ledger_entry_id_seq');

-- name: DrawProductID :one
SELECT nextval('product_id_seq');

-- name: DrawStockAdjustmentID :one
SELECT nextval('stock_adjustment_id_seq');
