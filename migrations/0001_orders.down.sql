DROP TABLE audit_log, outbox, movement, balance, refund, payment, order_item, orders, product;
