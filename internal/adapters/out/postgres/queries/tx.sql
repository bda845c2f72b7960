-- name: Now :one
SELECT now()::timestamptz AS now, pg_is_in_recovery() AS standby;

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
