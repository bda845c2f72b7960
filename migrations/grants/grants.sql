-- The privileges of the roles orders_service and orders_operator. `orders migrate up`
-- executes this file after the migrations, each time, as the owner of the tables. Privileges
-- that were granted by hand are revoked.
--
-- During an upgrade, the previous binary also works with these privileges. So an unneeded
-- privilege is revoked one version later.
BEGIN;

-- For both roles: revoke everything, and open the schema and the database, whose names the
-- installation chooses. `orders migrate up` reports a role that the owner may not create.
DO $$
DECLARE
	granted text;
	home text;
	here text := quote_ident(current_database());
	table_owner oid;
	owns_home boolean;
	owns_here boolean := (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database());
BEGIN
	SELECT quote_ident(n.nspname), pg_has_role(n.nspowner, 'USAGE'), c.relowner INTO home, owns_home, table_owner
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'schema_migrations'::regclass;
	FOREACH granted IN ARRAY ARRAY['orders_service', 'orders_operator'] LOOP
		BEGIN
			EXECUTE format('CREATE ROLE %s NOLOGIN', granted);
		-- A unique violation means that a migration of another database has just created it.
		EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
			CONTINUE WHEN to_regrole(granted) IS NULL;
		END;
		IF pg_has_role(granted, table_owner, 'MEMBER') THEN -- the owner's privileges would be revoked
			RAISE EXCEPTION '% owns the tables, or can become their owner', granted;
		END IF;
		EXECUTE format('REVOKE ALL ON audit_log, balance, customer_profile, dispute, idempotency_record, incarnation,
			ledger_entry, message_memory, order_item, orders, outbox, payment, processed_message, product, reconciliation,
			refund, relay_lease, reservation_extension, schema_migrations, stock_adjustment, webhook_delivery, webhook_endpoint
			FROM %s', granted);
		EXECUTE format('REVOKE ALL ON SEQUENCE ledger_entry_id_seq, orders_id_seq, payment_id_seq, product_id_seq,
			refund_id_seq, stock_adjustment_id_seq, webhook_delivery_id_seq, webhook_endpoint_id_seq FROM %s', granted);
		EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA river FROM %s', granted);
		EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA river FROM %s', granted);
		EXECUTE format('REVOKE ALL ON SCHEMA %s, river FROM %s', home, granted);
		EXECUTE format('GRANT USAGE ON SCHEMA %s, river TO %s', home, granted);
		IF owns_here THEN
			EXECUTE format('REVOKE ALL ON DATABASE %s FROM %s', here, granted);
			EXECUTE format('GRANT CONNECT ON DATABASE %s TO %s', here, granted);
		END IF;
	END LOOP;

	-- PostgreSQL lets PUBLIC create temporary tables and large objects, and before version
	-- 15 all tables. Only a superuser can revoke the functions for large objects.
	IF owns_home THEN
		EXECUTE format('REVOKE CREATE ON SCHEMA %s FROM PUBLIC', home);
	END IF;
	IF owns_here THEN
		EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %s FROM PUBLIC', here);
	END IF;
	IF (SELECT pg_has_role(proowner, 'USAGE') FROM pg_proc WHERE oid = 'pg_catalog.lo_create'::regproc) THEN
		REVOKE EXECUTE ON FUNCTION pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid),
			pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
	END IF;
END $$;

-- Exactly the privileges that `orders serve` needs: it never changes a stored amount, ledger
-- entry or audit entry. SELECT … FOR UPDATE needs one updatable column, even in tables whose
-- rows never change. At its start, the service reads these statements, and checks that it
-- has the privileges.
DO $$ BEGIN
	IF to_regrole('orders_service') IS NULL THEN
		RETURN;
	END IF;
	GRANT SELECT, INSERT ON audit_log TO orders_service;
	GRANT SELECT, INSERT, UPDATE (amount, position, changed_at) ON balance TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (full_name, email, phone, updated_at) ON customer_profile TO orders_service;
	GRANT SELECT, INSERT, UPDATE (amount, currency, reason, status, due_by) ON dispute TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (expires_at) ON idempotency_record TO orders_service; -- locked before DELETE
	GRANT SELECT, UPDATE (id, database) ON incarnation TO orders_service;
	GRANT SELECT, INSERT ON ledger_entry TO orders_service;
	GRANT SELECT, UPDATE (forgotten_until) ON message_memory TO orders_service;
	GRANT SELECT, INSERT ON order_item TO orders_service;
	GRANT SELECT, INSERT, UPDATE (status, reserved_until, version, updated_at, cancelled_by, cancel_key, cancel_reason)
		ON orders TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (published_at, dispatched_at) ON outbox TO orders_service;
	GRANT SELECT, INSERT, UPDATE (status, external_payment_id, failure, asked_at) ON payment TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (processed_at, sent_until) ON processed_message TO orders_service;
	GRANT SELECT, INSERT, UPDATE (name, price, currency, on_hand, reserved, version, updated_at)
		ON product TO orders_service;
	GRANT SELECT, UPDATE (version, position, found, mismatches, finished_at) ON reconciliation TO orders_service;
	GRANT SELECT, INSERT, UPDATE (status, external_refund_id, failure, asked_at) ON refund TO orders_service;
	GRANT SELECT, UPDATE (holder, until) ON relay_lease TO orders_service;
	GRANT SELECT, INSERT ON reservation_extension TO orders_service;
	GRANT SELECT ON schema_migrations TO orders_service;
	GRANT SELECT, INSERT ON stock_adjustment TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (status, attempts, next_attempt_at, response_status, response_start, error,
		finished_at) ON webhook_delivery TO orders_service;
	GRANT SELECT, INSERT, DELETE, UPDATE (url, event_types, description, ordered, secret, previous_secret, previous_until,
		failing_since, disabled_at, disabled_reason, updated_at) ON webhook_endpoint TO orders_service;

	-- The sequences for allocated ids. Those of other tables need no privilege.
	GRANT USAGE ON SEQUENCE ledger_entry_id_seq, orders_id_seq, payment_id_seq, product_id_seq, refund_id_seq,
		stock_adjustment_id_seq, webhook_delivery_id_seq, webhook_endpoint_id_seq TO orders_service;

	-- River's tables may change with its versions.
	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA river TO orders_service;
	REVOKE INSERT, UPDATE, DELETE ON river.river_migration FROM orders_service;
	GRANT USAGE ON ALL SEQUENCES IN SCHEMA river TO orders_service;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA river TO orders_service;
END $$;

-- Exactly the privileges that the operators' commands need. They reach neither personal data
-- nor stored responses nor secrets, and change jobs and webhooks.
DO $$ BEGIN
	IF to_regrole('orders_operator') IS NULL THEN
		RETURN;
	END IF;
	GRANT SELECT ON balance, dispute, ledger_entry, order_item, orders, payment, product, refund TO orders_operator;
	GRANT SELECT, UPDATE (finalized_at, max_attempts, scheduled_at, state) ON river.river_job TO orders_operator;
	GRANT SELECT (id, owner, seller_id, url, failing_since, disabled_at, disabled_reason, created_at),
		UPDATE (disabled_at, disabled_reason, updated_at) ON webhook_endpoint TO orders_operator;
	GRANT SELECT (id, endpoint_id, event_id, event_type, status, attempts, next_attempt_at, response_status, error, event_at),
		UPDATE (status, attempts, next_attempt_at, finished_at) ON webhook_delivery TO orders_operator;
	GRANT INSERT ON audit_log TO orders_operator;
END $$;

COMMIT;
