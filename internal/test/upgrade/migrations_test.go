package upgrade_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/upgrade"
	"example.com/orders/internal/version"
	"example.com/orders/migrations"
)

// inRelease are the findings in migrations of version 0.1.0, which nobody upgraded to: no
// database in use had the schema before them. A migration that is added has none.
var inRelease = map[string][]string{
	"0008_provider_names.up.sql": {
		"commands on payment, refund wait for a scan of payment, refund",
		"payment is rewritten while commands wait",
		"refund is rewritten while commands wait",
		"payment_uuid_key may refuse what the version before writes",
		"refund_uuid_key may refuse what the version before writes",
	},
	"0009_event_names.up.sql": {
		"rows of outbox are changed and stay locked",
		"commands on outbox wait for a scan of outbox",
		"outbox is rewritten while commands wait",
		"outbox_event_id_key may refuse what the version before writes",
	},
	"0010_jobs.up.sql": {
		"commands on orders, payment, refund wait for a scan of orders, payment, refund",
		"orders_reserved_until is another index",
	},
	"0011_stock_adjustments.up.sql": {"commands on product wait for a scan of product"},
	"0012_references.up.sql": {
		"commands on ledger_entry, orders wait for a scan of ledger_entry, orders",
		"ledger_entry_reference may refuse what the version before writes",
		"orders_reference may refuse what the version before writes",
	},
	"0013_reconciliation.up.sql": {"commands on ledger_entry, payment wait for a scan of ledger_entry, payment"},
	"0014_ledger_positions.up.sql": {
		"commands on balance, ledger_entry wait for a scan of balance, ledger_entry",
		"ledger_entry_position may refuse what the version before writes",
	},
	"0015_unpaid_orders_and_profiles.up.sql": {"commands on customer_profile, orders wait for a scan of orders"},
	"0016_filters_and_times.up.sql": {
		"rows of customer_profile are changed and stay locked",
		"commands on audit_log, customer_profile, ledger_entry, orders, payment, product, refund, stock_adjustment " +
			"wait for a scan of customer_profile, orders",
		"audit_log_id_seq was 1 to 9223372036854775807 by 1 and is 1 to 9007199254740991 by 1",
		"ledger_entry_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
		"orders_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
		"payment_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
		"product_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
		"refund_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
		"stock_adjustment_id_seq was 1 to 9223372036854775807 by 100 and is 1 to 9007199254740892 by 100",
	},
}

func TestMigrations_LetTheVersionBeforeWork(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, err = %v", len(files), err)
	}
	conn := newEmpty(t)
	schema, _, rows := readRelease(t)
	for i, file := range files {
		if uint(i) == schema {
			load(t, conn, rows)
		}
		text, err := migrations.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found, err := upgrade.Check(t.Context(), conn, string(text), version.Number)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if diff := cmp.Diff(inRelease[file], found); diff != "" {
			t.Errorf("migrations/%s: docs/migrations.md says how to write it (-want +got):\n%s", file, diff)
		}
	}
}
