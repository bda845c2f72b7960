-- name: Now :one
-- An empty lock timeout leaves the setting as it is.
SELECT now()::timestamptz AS now, pg_postmaster_start_time()::timestamptz AS server_started, pg_is_in_recovery() AS standby,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous,
       set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), current_setting('lock_timeout')), true) AS lock_timeout;

-- name: Durability :one
-- Which crashes a COMMIT of this transaction survives once it is acknowledged.
SELECT current_setting('synchronous_commit') AS level, (current_setting('synchronous_standby_names') <> '')::bool AS synchronous;

-- name: Position :one
-- How far the primary has written, and on which timeline. Every COMMIT that was answered
-- lies before. A standby reports an error.
SELECT pg_current_wal_flush_lsn()::text AS flushed,
       substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8)::text AS timeline;

-- name: Reached :one
-- Whether the server is a standby that has replayed a position. The timeline is that of
-- its last restartpoint: one that has followed another primary may be further, elsewhere.
SELECT now()::timestamptz AS now,
       coalesce(pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= (@flushed::text)::pg_lsn
           AND upper(lpad(to_hex(c.timeline_id), 8, '0')) = @timeline::text, false)::bool AS reached
FROM pg_control_checkpoint() c;

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
