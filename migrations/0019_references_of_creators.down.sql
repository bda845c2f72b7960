DROP INDEX orders_creator_reference;
