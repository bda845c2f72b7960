-- Lists of orders by reference. A customer has one order with a reference, which the unique
-- index finds; a seller, and everybody together, may have many. As in the lists without a
-- reference, the conditions that are always true keep other queries from these indexes
-- while the table is empty.
CREATE INDEX orders_of_seller_by_reference ON orders (seller_id, reference, status, created_at DESC, id DESC)
    WHERE reference <> '' AND seller_id >= '';
CREATE INDEX orders_by_reference ON orders (reference, status, created_at DESC, id DESC)
    WHERE reference <> '' AND id > 0;

-- When a profile was created. Of those that exist, only the last change is known.
-- The default is for the previous binary, which still writes during an upgrade.
ALTER TABLE customer_profile ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();
UPDATE customer_profile SET created_at = updated_at;

-- Clients read IDs exactly up to 9007199254740991 (2^53 - 1). A draw is a block of 100 IDs,
-- except for those of the audit log, so the last block begins 99 before that.
ALTER TABLE product          ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE orders           ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE payment          ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE refund           ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE ledger_entry     ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE stock_adjustment ALTER COLUMN id SET MAXVALUE 9007199254740892;
ALTER TABLE audit_log        ALTER COLUMN id SET MAXVALUE 9007199254740991;
