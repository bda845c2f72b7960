DROP TABLE audit_log, outbox, customer_profile, movement, balance, refund, payment, reservation, order_item, orders, product;
