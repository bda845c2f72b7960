DROP INDEX orders_unpaid;
