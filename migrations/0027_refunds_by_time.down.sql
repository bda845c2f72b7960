DROP INDEX refund_by_time;
