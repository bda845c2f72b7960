DROP INDEX refund_reference;
