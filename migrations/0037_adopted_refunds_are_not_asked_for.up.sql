-- The provider is never asked to make a refund that people made there. The version before
-- does not know them, marks each pending refund before it asks, and would pay a second time.
--
-- accepts: refund_made_at_provider_check, the version before must not ask for such a refund
ALTER TABLE refund ADD CONSTRAINT refund_made_at_provider_check CHECK (NOT made_at_provider OR asked_at IS NULL) NOT VALID;
