-- A refund that people made at the card provider, and not this service. The version before
-- makes none, and shows one as any other refund of an operator.
ALTER TABLE refund ADD COLUMN made_at_provider boolean NOT NULL DEFAULT false;
