//go:build prometheus

package alerts

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// picture is what the tool draws.
type picture struct {
	Title  string
	Times  []string
	Panels []drawn
}

// drawn is a panel with its data.
type drawn struct {
	Title, Type, Unit string
	GridPos           struct{ X, Y, W, H int }
	Stacked           bool
	Texts             map[string]string
	Series            []line
}

type line struct {
	Name   string
	Values []*float64
}

// The times of a run for the pictures: work as usual, then an outage that is long enough for
// alerts that wait a minute, and then a recovery.
const (
	usualWork = 100 * time.Second
	outage    = 85 * time.Second
	recovery  = 40 * time.Second
)

// TestPictures draws the dashboard and the alerts of an outage into the folder PICTURES, with
// the data of a service that works.
func TestPictures(t *testing.T) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		t.Skip("make dashboard-pictures draws them")
	}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	s := startSystem(t, string(rules), nil)
	s.PutProduct(t, "tea", 1_000_000)
	s.work(t)
	start := time.Now()
	pass(t, usualWork)
	d := readDashboard(t)
	s.draw(t, filepath.Join(folder, "dashboard.png"), "orders: two replicas", d.Panels, start)

	repair := stopDatabase(t, s)
	start = time.Now().Add(-20 * time.Second)
	pass(t, outage)
	repair(t)
	pass(t, recovery)
	s.draw(t, filepath.Join(folder, "alerts.png"), "orders: PostgreSQL is down for 85 seconds", outagePanels(t, d), start)
}

// pass lets time pass, which is what the pictures show.
func pass(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// outagePanels returns panels of the dashboard that show an outage, and one with the alerts.
func outagePanels(t testing.TB, d dashboard) []panel {
	t.Helper()
	var chosen []panel
	for i, title := range []string{"Requests by status", "Commands: time", "Outcomes of keys", "Outbox", "Connections in use"} {
		at := slices.IndexFunc(d.Panels, func(p panel) bool { return p.Title == title })
		if at < 0 {
			t.Fatalf("the dashboard has no panel %q", title)
		}
		p := d.Panels[at]
		p.GridPos.X, p.GridPos.Y, p.GridPos.W, p.GridPos.H = i%3*8, i/3*8, 8, 8
		chosen = append(chosen, p)
	}
	alerts := panel{Title: "Alerts: 1 is pending, 2 fires", Type: "timeseries", Targets: []target{{
		`max by (alertname) (ALERTS{alertstate="firing"} * 2 or ALERTS{alertstate="pending"})`, "{{alertname}}",
	}}}
	alerts.GridPos.X, alerts.GridPos.Y, alerts.GridPos.W, alerts.GridPos.H = 16, 8, 8, 8
	return append(chosen, alerts)
}

// draw evaluates the queries of panels and draws them.
func (s *system) draw(t testing.TB, file, title string, panels []panel, start time.Time) {
	t.Helper()
	const step = time.Second
	from, to := start.Truncate(step), time.Now().Truncate(step)
	p := picture{Title: title}
	for at := from; !at.After(to); at = at.Add(step) {
		p.Times = append(p.Times, at.UTC().Format("15:04:05"))
	}
	for _, one := range panels {
		d := drawn{
			Title: one.Title, Type: one.Type, Unit: one.FieldConfig.Defaults.Unit, GridPos: one.GridPos,
			Stacked: one.FieldConfig.Defaults.Custom.Stacking.Mode == "normal", Texts: map[string]string{},
		}
		for _, m := range one.FieldConfig.Defaults.Mappings {
			for value, instead := range m.Options {
				d.Texts[value] = instead.Text
			}
		}
		for _, q := range one.Targets {
			for _, shown := range s.prometheus.queryRange(t, q.Expr, from, to, step) {
				d.Series = append(d.Series, line{q.legend(shown), spread(shown, from, len(p.Times))})
			}
		}
		slices.SortStableFunc(d.Series, func(a, b line) int { return cmp.Compare(a.Name, b.Name) })
		p.Panels = append(p.Panels, d)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	tool(t, "draw", absolute, writeJSON(t, p))
}

// spread returns the values of a series second by second, nil where there is none.
func spread(s series, from time.Time, n int) []*float64 {
	values := make([]*float64, n)
	for _, v := range s.Values {
		at, isNumber := v[0].(float64)
		text, isText := v[1].(string)
		number, err := strconv.ParseFloat(text, 64)
		i := int(int64(at) - from.Unix())
		if isNumber && isText && err == nil && text != "NaN" && i >= 0 && i < n {
			values[i] = &number
		}
	}
	return values
}

// shoppers is how many customers work at the same time.
const shoppers = 6

// work lets customers, a bank and a warehouse work until the test ends, whatever happens.
func (s *system) work(t testing.TB) {
	t.Helper()
	for n := range shoppers {
		near := *s
		near.Service = s.ServiceOf(s.replicas[n%len(s.replicas)])
		natstest.Run(t, func(ctx context.Context) { near.shop(ctx, t, fmt.Sprint("customer-", n)) })
	}
	js := natstest.JetStream(t, s.broker)
	natstest.Run(t, func(ctx context.Context) {
		for n := 0; ctx.Err() == nil; n++ {
			body := fmt.Sprintf(`{"specversion":"1.0","id":"delivery-%d","source":"/warehouse","type":"inventory.restocked",`+
				`"data":{"sku":"tea","quantity":1}}`, n/3*2) // some come twice
			_, _ = js.Publish(ctx, events.Subject, []byte(body)) // the stream may not be there yet
			rest(ctx, 300)
		}
	})
}

// shop lets a customer order, pay and give back, and retry some of the commands.
func (s *system) shop(ctx context.Context, t testing.TB, customer string) {
	t.Helper()
	for ctx.Err() == nil {
		create := s.CreateOrderCall(t, customer, "tea", 1+rand.IntN(3))
		r := s.sendOften(ctx, t, create)
		_, id, _ := strings.Cut(r.Header.Get("Location"), "/orders/")
		order, err := strconv.Atoi(id)
		if err != nil {
			continue // the order was refused, or the database is down
		}
		s.sendOften(ctx, t, s.CreditCall(t, customer, "300.00"))
		pay := s.ConfirmCall(t, customer, order)
		if rand.IntN(3) == 0 {
			pay = pay.WithBody(`{"method": "card", "payment_method": "pm_card_visa"}`)
		}
		s.sendOften(ctx, t, pay)
		_, _ = s.Try(ctx, t, e2e.Get(s.Token(t, customer, "customer"), fmt.Sprintf("/orders/%d", order)))
		if rand.IntN(20) == 0 {
			s.sendOften(ctx, t, s.RefundCall(s.AdminToken(t), order, ""))
		}
		rest(ctx, 150)
	}
}

// sendOften sends a call, sometimes twice at the same time, and sometimes again later.
func (s *system) sendOften(ctx context.Context, t testing.TB, c e2e.Call) e2e.Reply {
	t.Helper()
	if rand.IntN(6) == 0 {
		duplicate := make(chan struct{})
		go func() { defer close(duplicate); _, _ = s.Try(ctx, t, c) }()
		defer func() { <-duplicate }()
	}
	r, _ := s.Try(ctx, t, c) // a customer goes on whatever happens
	rest(ctx, 60)
	if rand.IntN(5) == 0 {
		_, _ = s.Try(ctx, t, c)
	}
	return r
}

// rest waits for about a time, or until the test ends.
func rest(ctx context.Context, milliseconds int) {
	select {
	case <-time.After(time.Duration(rand.IntN(2*milliseconds)) * time.Millisecond):
	case <-ctx.Done():
	}
}
