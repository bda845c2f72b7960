DROP TABLE reservation_extension, order_item, orders, product;
