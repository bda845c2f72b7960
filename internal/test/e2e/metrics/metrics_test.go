package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMetrics_EachIsMovedByWhatItMeasures(t *testing.T) {
	t.Parallel()
	f := start(t)
	moved := map[string]bool{}
	for _, m := range moves {
		m.run(t, f)
		after := scrape(t, f.admin)
		for series := range m.want {
			moved[after.family(series)] = true
		}
	}
	var now scraped
	e2e.Eventually(t, "the replica has recovered", func() bool {
		now = scrape(t, f.admin)
		ready, _ := now.value("orders_ready")
		up, _ := now.value("orders_database_up")
		return ready == 1 && up == 1
	})
	for family := range now.types {
		if !moved[family] {
			t.Errorf("no move moves %s", family)
		}
	}
	wantDocumented(t, now)
}

// run makes the move and waits until all of its metrics have changed as they must.
func (m move) run(t *testing.T, f *fixture) {
	t.Helper()
	before := scrape(t, f.admin)
	undo := m.do(t, f)
	if undo != nil {
		defer undo()
	}
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Logf("%s: %s", m.name, strings.Join(missing, ", "))
		}
	}()
	e2e.Eventually(t, m.name, func() bool {
		missing = nil
		now := scrape(t, f.admin)
		for series, c := range m.want {
			was, _ := before.value(series)
			value, present := now.value(series)
			if !present || !c.holds(was, value) {
				missing = append(missing, series+" "+c.says)
			}
		}
		return len(missing) == 0
	})
}

// What comes from the database is the same on each replica, what a process has done is its
// own, and both follow the conventions of Prometheus.
func TestMetrics_OfTwoReplicas(t *testing.T) {
	t.Parallel()
	f := start(t)
	_, other := f.replica(t, f.Env)
	f.insertJob(t, "reconcile", "discarded")
	f.Exec(t, `GRANT TRUNCATE ON audit_log TO `+pgtest.ServiceRole)
	f.Credit(t, "ann", "1.00")
	for _, series := range []string{
		`orders_jobs{kind="reconcile",state="discarded"}`, "orders_database_excess_privileges",
		"orders_reconciliation_mismatches", `orders_table_bytes{table="orders"}`, "orders_database_writable",
	} {
		e2e.Eventually(t, series, func() bool {
			one, _ := scrape(t, f.admin).value(series)
			two, _ := scrape(t, other).value(series)
			return one > 0 && one == two
		})
	}
	const created = `orders_idempotency_outcomes_total{outcome="created"}`
	if one, _ := scrape(t, f.admin).value(created); one < 2 {
		t.Errorf("%s is %v on the replica that served the commands", created, one)
	}
	if two, present := scrape(t, other).value(created); two != 0 || !present {
		t.Errorf("%s is %v on the other replica, want 0", created, two)
	}
	problems, err := promlint.New(strings.NewReader(scrape(t, f.admin).text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// A path, a method or a key may be a secret, and there is no end of them.
func TestMetrics_HaveNoLabelOfTheClientsChoice(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, c := range []e2e.Call{
		{Method: "GET", Path: "/secret-path"}, {Method: "SECRETMETHOD", Path: "/orders"}, {Method: "SECRETMETHOD", Path: "/secret-path"},
		{Method: "PUT", Path: "/orders/17/cancel"}, {Method: "GET", Path: "/orders/secret-order"}, {Method: "OPTIONS", Path: "/orders"},
	} {
		sendAnything(t, f.URL, c)
	}
	f.MustSend(t, f.CreditCall(t, "secret-customer", "1.00").WithKey("secret-key"))
	now := scrape(t, f.admin)
	if strings.Contains(strings.ToLower(now.text), "secret") {
		t.Error("a label is of the client's choice")
	}
	const family = "orders_http_requests_total"
	var known []string
	for _, op := range f.Contract.Operations() {
		known = append(known, op.Path)
	}
	for _, route := range now.labelValues(family, "route") {
		if route != "none" && !slices.Contains(known, route) {
			t.Errorf("%s is no route", route)
		}
	}
	want := []string{"GET", "OPTIONS", "POST", "PUT", "other"}
	if got := now.labelValues(family, "method"); !slices.Equal(got, want) {
		t.Errorf("methods %v, want %v", got, want)
	}
	if none, _ := now.value(family + `{method="other",route="none",status="405"}`); none == 0 {
		t.Errorf("unknown methods are not counted: %v", now.labelValues(family, "status"))
	}
}
