-- A refund that people made at the card provider, and not this service. The version before
-- makes none, and shows one as any other refund of an operator.
--
-- The provider is never asked to make such a refund. The version before does not know them,
-- marks each pending refund before it asks, and would pay a second time.
--
-- accepts: refund_made_at_provider_check, the version before must not ask for such a refund
ALTER TABLE refund
    ADD COLUMN made_at_provider boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT refund_made_at_provider_check CHECK (NOT made_at_provider OR asked_at IS NULL) NOT VALID;
