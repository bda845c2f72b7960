-- A reference is unique among the adjustments of a product by one creator.
--
-- accepts: stock_adjustment_reference, the version before writes no references of adjustments
CREATE UNIQUE INDEX CONCURRENTLY stock_adjustment_reference ON stock_adjustment (sku, created_by, reference) WHERE reference <> '';
