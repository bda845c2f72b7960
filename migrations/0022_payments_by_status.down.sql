DROP INDEX payment_by_status;
