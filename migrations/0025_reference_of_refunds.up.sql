-- A reference is unique among the refunds of a payment by one creator, so that neither the
-- customer nor an administrator can take the references of another. A refund that has failed
-- keeps its reference: a copy of the request that arrives late makes no second refund.
--
-- accepts: refund_reference, the version before writes no references of refunds
CREATE UNIQUE INDEX CONCURRENTLY refund_reference ON refund (payment_id, created_by, reference) WHERE reference <> '';
