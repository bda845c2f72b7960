-- The card provider's reason for refusing a refund, as payment.failure has it for a charge.
--
-- NULL in refunds that the version before fails, so a failed refund may have none.
ALTER TABLE refund ADD COLUMN failure text;
