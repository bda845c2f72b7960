package checks

import (
	"maps"
	"slices"
	"testing"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// damage is a change of what a settled run left behind, in SQL or among the other facts.
type damage struct {
	contradicts string
	sql         string
	change      func(*facts)
}

var damages = map[string]damage{
	"a unit of stock is missing":       {"the database keeps its invariants", "UPDATE product SET on_hand = on_hand - 1 WHERE sku = 'book'", nil},
	"a message restocked twice":        {"the database keeps its invariants", "UPDATE product SET on_hand = on_hand + 3 WHERE sku = 'tea'", nil},
	"a stock was replaced unaudited":   {"the database keeps its invariants", stockReplaced, nil},
	"a balance was raised":             {"the database keeps its invariants", "UPDATE balance SET amount = amount + 0.01", nil},
	"two entries of one reference":     {"a reference has one effect", "DROP INDEX ledger_entry_reference; UPDATE ledger_entry SET reference = 'r'", nil},
	"two orders of one reference":      {"a reference has one effect", "DROP INDEX orders_creator_reference; UPDATE orders SET reference = 'r'", nil},
	"a status was lost":                {"an acknowledged status was reached", "", loseStatus},
	"a profile is an older one":        {"the last acknowledged profile is stored", "", expectProfile},
	"an event was not published":       {"each event is published once", "", func(f *facts) { f.events = f.events[1:] }},
	"an event was published twice":     {"each event is published once", "", func(f *facts) { f.events = append(f.events, f.events[0]) }},
	"a message was forgotten":          {"each message of the warehouse is processed once", "DELETE FROM processed_message", sendMessage},
	"a message came from nowhere":      {"each message of the warehouse is processed once", messageOfNobody, nil},
	"a dead letter came twice":         {"each broken message is a dead letter once", "", func(f *facts) { f.deadLetters = append(f.deadLetters, []byte("{")) }},
	"a broken message disappeared":     {"each broken message is a dead letter once", "", breakMessage},
	"a charge of nobody":               {"the provider charged what we captured", "", chargeAtProvider},
	"a payment without a charge":       {"the provider charged what we captured", unknownCharge, nil},
	"reconcile found something else":   {"orders reconcile finds the refunds that cards refused", "", func(f *facts) { f.mismatches = "order/1 paid" }},
	"a payment lost its job":           {"no job was given up", "UPDATE payment SET status = 'processing' WHERE status = 'captured'", nil},
	"a job was given up":               {"no job was given up", jobGivenUp, nil},
	"a key is still locked":            {"no key is locked and no transaction left open", "SELECT pg_advisory_xact_lock(1)", nil},
	"a key is in a log":                {"no secret is in a log or a column where it does not belong", "", func(f *facts) { f.logs += clients.Canary + "-1-1" }},
	"a card number is in a column":     {"no secret is in a log or a column where it does not belong", "UPDATE product SET name = '" + clients.CardNumber + "'", nil},
	"a key is in a column of texts":    {"no secret is in a log or a column where it does not belong", "UPDATE product SET name = '" + clients.Canary + "'", nil},
	"a secret is in a stored body":     {"no secret is in a log or a column where it does not belong", "UPDATE idempotency_record SET body = 'sk_test_double'", nil},
	"an act was not audited":           {"the audit log has each act of the administrator", "DELETE FROM audit_log", actAsAdministrator},
	"an entry of what nobody has done": {"the audit log has each act of the administrator", actsOfNobody, nil},
}

const (
	stockReplaced = `UPDATE product SET on_hand = on_hand + 2 WHERE sku = 'cup';
		INSERT INTO audit_log (actor, at, action, resource, metadata)
		VALUES ('root', now(), 'PutProduct', 'product/cup', '{"on_hand": "9", "previous_on_hand": "8"}')`
	messageOfNobody = `INSERT INTO processed_message (source, message_id, processed_at) VALUES ('events ` + clients.WarehouseSource + `', 'x', now())`
	unknownCharge   = `UPDATE payment SET uuid = gen_random_uuid() WHERE method = 'card' AND status = 'captured'`
	jobGivenUp      = `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, finalized_at)
		VALUES ('settle_payment', '{"id": 1}', 1, 1, 'payments', 'discarded', now())`
	actsOfNobody = `INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'GetRefund', 'order/1')`
)

// another returns the world of a run, for a test to change.
func (f *facts) another() *clients.Memory {
	return &clients.Memory{
		Warehouse: &clients.Warehouse{Good: maps.Clone(f.Warehouse.Good), Broken: maps.Clone(f.Warehouse.Broken)},
		Statuses:  f.Statuses, Profiles: maps.Clone(f.Profiles), Administrator: maps.Clone(f.Administrator), Created: f.Created,
	}
}

func loseStatus(f *facts) { f.Statuses = []clients.OrderStatus{{OrderID: 1 << 50, Status: "shipped"}} }

func expectProfile(f *facts) {
	f.Profiles["member-0"] = clients.Profile{Acknowledged: "anna@example.com"}
}

func sendMessage(f *facts) {
	f.Warehouse.Good["delivery-0"] = clients.Restocked{SKU: "tea", Quantity: 1}
}

func breakMessage(f *facts) {
	f.Warehouse.Broken["{"] = true
	f.messages = append(f.messages, []byte("{"))
}

func chargeAtProvider(f *facts) {
	f.charges = maps.Clone(f.charges)
	f.charges["payment-of-nobody"] = fakestripe.Charge{Payment: "payment-of-nobody", Count: 1, Amount: 100, Currency: "rub"}
}

func actAsAdministrator(f *facts) { f.Administrator["ListOrders"] = clients.Sent{Acknowledged: 1} }

// A check that finds nothing wrong proves nothing unless it finds damage.
func TestChecks_FindDamage(t *testing.T) {
	t.Parallel()
	l := settledRun(t)
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			if found := contradictionsAfter(t, l, d); !slices.Contains(found, d.contradicts) {
				t.Errorf("%q is not contradicted, but %q", d.contradicts, found)
			}
		})
	}
	if found := contradictionsAfter(t, l, damage{sql: "SELECT"}); len(found) > 0 {
		t.Errorf("contradicted without damage: %q", found)
	}
}

func TestChecks_HaveDamageForEach(t *testing.T) {
	t.Parallel()
	contradicted := map[string]bool{}
	for _, d := range damages {
		contradicted[d.contradicts] = true
	}
	for _, c := range checks {
		if !contradicted[c.name] {
			t.Errorf("no damage proves that this is checked: %s", c.name)
		}
	}
}

// settledRun runs the workload of a seed while nothing breaks.
func settledRun(t *testing.T) *clients.Load {
	t.Helper()
	s := world.Start(t, world.Needs{})
	l := clients.New(t, s, 1, nil)
	stop := l.Start(clients.Most)
	l.AwaitDecided(3 * clients.Pause)
	e2e.Eventually(t, "a payment is captured by card, which damages change", func() bool {
		return l.Count(t, `SELECT count(*) FROM payment WHERE method = 'card' AND status = 'captured'`) > 0
	})
	stop()
	settle(l)
	return l
}

// contradictionsAfter returns the checks that find something after a damage, which is rolled
// back.
func contradictionsAfter(t *testing.T, l *clients.Load, d damage) []string {
	t.Helper()
	tx, err := l.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // the damage is rolled back in any case
	f := readFacts(l, tx)
	f.Memory = f.another()
	if tag, err := tx.Exec(t.Context(), d.sql); err != nil || d.sql != "" && tag.RowsAffected() == 0 {
		t.Fatalf("the damage is not done: %s, %v", tag, err)
	}
	if d.change != nil {
		d.change(f)
	}
	var found []string
	for _, c := range checks {
		contradictions, err := c.find(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(contradictions) > 0 {
			found = append(found, c.name)
		}
	}
	return found
}

func TestFootprint_FindsLeaks(t *testing.T) {
	t.Parallel()
	before := footprint{goroutines: []int{50, 50}, connections: 10}
	for name, after := range map[string]footprint{
		"goroutines":  {goroutines: []int{50, 50 + moreGoroutines + 1}, connections: 10},
		"connections": {goroutines: before.goroutines, connections: 2*maxConnections() + 1},
	} {
		if len(after.leaks(before)) == 0 {
			t.Errorf("leaked %s are not found", name)
		}
	}
	if leaks := before.leaks(before); len(leaks) > 0 {
		t.Errorf("nothing leaked, and found %q", leaks)
	}
}
