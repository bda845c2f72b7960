-- A row with NaN must not stop the upgrade: its constraint stays as it is, valid for new rows
-- only, and reconciliation names the row. Commands write while a table is validated.
DO $$
DECLARE
    added record;
BEGIN
    FOR added IN
        SELECT conrelid::regclass AS name, conname FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace AND conname LIKE '%\_is\_number' AND NOT convalidated
        ORDER BY conname
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', added.name, added.conname);
        EXCEPTION WHEN check_violation THEN
            RAISE NOTICE 'a row violates %', added.conname;
        END;
    END LOOP;
END
$$;
