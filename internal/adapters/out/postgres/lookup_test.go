package postgres_test

import (
	"slices"
	"testing"

	"example.com/orders/internal/adapters/out/postgres/lookup"
)

// A view in place of the ledger sees the settings of the transaction that reads it.
func TestLookup_CannotWriteAndEndsInTime(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	placeOrder(t, useCasesOn(d.DB))
	d.execute(t, `CREATE FUNCTION harmless() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
			IF (current_setting('transaction_read_only'), current_setting('statement_timeout')) <> ('on', '2s') THEN
				RAISE EXCEPTION 'the transaction may write or take long';
			END IF;
			RETURN true;
		END $$;
		ALTER TABLE ledger_entry RENAME TO hidden;
		CREATE VIEW ledger_entry AS SELECT * FROM hidden WHERE harmless();
		GRANT SELECT ON ledger_entry TO orders_service;`)

	tables, err := lookup.Find(t.Context(), d.DB.DB, "issuer", ann.Subject)
	ofLedger := func(table [][]string) bool { return table[0][0] == "ledger entry" }
	if err != nil || !slices.ContainsFunc(tables, ofLedger) {
		t.Errorf("%q, %v; want ledger entries", tables, err)
	}
}
