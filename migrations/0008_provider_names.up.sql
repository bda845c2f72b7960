-- Sequences begin again after a restore, so the number of a row may belong to two rows of two
-- databases. Card providers know payments and refunds by these UUIDs, which nobody repeats.
ALTER TABLE payment ADD COLUMN uuid uuid NOT NULL UNIQUE DEFAULT gen_random_uuid();
ALTER TABLE refund ADD COLUMN uuid uuid NOT NULL UNIQUE DEFAULT gen_random_uuid();

-- When the provider was first asked to charge or to refund, written before the first call. The
-- number of a job's attempts would not do: a job can be lost and put back.
ALTER TABLE payment ADD COLUMN asked_at timestamptz;
ALTER TABLE refund ADD COLUMN asked_at timestamptz;
