package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"example.com/orders/cmd/orders-dev/play"
)

// TestMain lets the playground start replicas from the program of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "replica" {
		main()
		return
	}
	os.Exit(m.Run())
}

// token returns a token of a role, as orders-dev hands it to the reference page.
func (d *running) token(t *testing.T, role string) string {
	t.Helper()
	var handed struct{ Token string }
	if err := json.Unmarshal(d.send(t, http.MethodPost, "/docs/token?role="+role, fromThePage, "").body, &handed); err != nil {
		t.Fatal(err)
	}
	return handed.Token
}

var fromThePage = http.Header{"Sec-Fetch-Site": {"same-origin"}}

// press presses a button of the playground, and returns the entries of the time line.
func (d *running) press(t *testing.T, scenario string) []play.Entry {
	t.Helper()
	response := d.send(t, http.MethodPost, "/play/"+scenario, fromThePage, "")
	if response.status != http.StatusOK {
		t.Fatalf("%s: status %d", scenario, response.status)
	}
	var entries []play.Entry
	for line := range bytes.Lines(response.body) {
		var entry play.Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Kind == "error" {
			t.Fatalf("%s: %s", scenario, entry.Text)
		}
		entries = append(entries, entry)
	}
	return entries
}

// outcomes returns how the attempts of a scenario ended, the first one first: the status that
// the client got, and the effect.
func outcomes(entries []play.Entry) []string {
	var ended []string
	for _, e := range entries {
		if e.Kind == "attempt" && !e.Attempt.Pending {
			status := http.StatusText(e.Attempt.Status)
			if e.Attempt.Lost != nil {
				status = "lost"
			}
			ended = append(ended, strings.TrimSpace(status+" "+string(e.Attempt.Effect)))
		}
	}
	return ended
}

// state returns the last state that a scenario told.
func state(t *testing.T, entries []play.Entry) play.State {
	t.Helper()
	last := entries[len(entries)-1]
	if last.Kind != "state" {
		t.Fatalf("the last entry is %+v", last)
	}
	return *last.State
}

// wantVerdict fails the test unless the last verdict is right where the balance moved once, or
// if an attempt that got the result of another one got other bytes.
func wantVerdict(t *testing.T, scenario string, entries []play.Entry) {
	t.Helper()
	moved := state(t, entries).Moved.Times
	var first string
	for _, e := range entries {
		if e.Kind == "verdict" && e.Right != (moved == 1) {
			t.Errorf("%s: moved %d times, but right is %t: %s", scenario, moved, e.Right, e.Text)
		}
		if e.Kind != "attempt" || !e.Attempt.Guarded || e.Attempt.Status != http.StatusCreated {
			continue
		}
		if first = cmp.Or(first, e.Attempt.Response); e.Attempt.Response != first {
			t.Errorf("%s: attempt %d got %s, want %s", scenario, e.Attempt.Number, e.Attempt.Response, first)
		}
	}
}

func wantScenariosToPay(t *testing.T, d *running) {
	t.Helper()
	for _, c := range []struct {
		scenario string
		want     []string
		moved    int
	}{
		{"pay", []string{"Created committed"}, 1},
		{"pay", []string{"Created replayed"}, 1},
		{"lose", []string{"lost committed", "Created replayed"}, 1},
		{"change", []string{"Conflict refused"}, 1},
		{"race", []string{"Created committed", "Created replayed"}, 1},
		{"kill", []string{"rolled back", "Created committed"}, 1},
		{"expire", []string{"Created committed", "Created recognised"}, 1},
		{"new", nil, 0},
		{"change", []string{"Created committed", "Conflict refused"}, 1},

		{"pay?guard=off", []string{"Created committed"}, 1},
		{"pay?guard=off", []string{"Created committed"}, 2},
		{"lose?guard=off", []string{"lost committed", "Created committed"}, 2},
		{"change?guard=off", []string{"Created committed"}, 3},
		{"race?guard=off", []string{"Created committed", "Created committed"}, 2},
		{"kill?guard=off", []string{"rolled back", "Created committed"}, 1},
		{"expire?guard=off", []string{"Created committed", "Created committed"}, 2},
		{"new?guard=off", nil, 0},
	} {
		entries := d.press(t, c.scenario)
		got := outcomes(entries)
		if c.scenario == "race" {
			slices.Sort(got) // either replica may win
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.scenario, diff)
		}
		wantVerdict(t, c.scenario, entries)
		if moved := state(t, entries).Moved; moved.Times != c.moved {
			t.Errorf("%s: the payment moved the balance %d times, want %d", c.scenario, moved.Times, c.moved)
		}
	}
}

// The shop refunds past the service, which finds the refund in its books once.
func wantDashboardRefund(t *testing.T, d *running) {
	t.Helper()
	entries := d.press(t, "refund")
	if i := slices.IndexFunc(entries, func(e play.Entry) bool { return e.Kind == "verdict" }); i < 0 || !entries[i].Right {
		t.Errorf("the time line: %+v", entries)
	}
}

// The shop acts on the event in the first attempt, and drops the second one as a repeat.
var repeatedWebhook = regexp.MustCompile(`^note A customer orders .*
fault Attempt 1: the shop acts on order.created with the ID (\S+)\. .*
note Attempt 2: .* with the same ID, (\S+)\. The shop drops it .*
verdict The event is delivered after 2 attempts, and the shop acted on it once\.
state \n$`)

func wantRepeatedWebhook(t *testing.T, d *running) {
	t.Helper()
	lines, right := "", false
	for _, e := range d.press(t, "webhook") {
		lines += e.Kind + " " + e.Text + "\n"
		right = right || e.Right
	}
	if got := repeatedWebhook.FindStringSubmatch(lines); !right || got == nil || got[1] != got[2] {
		t.Errorf("right is %t, the time line:\n%s", right, lines)
	}
}

// The path of the twin leads nowhere in the service.
func wantNoTwin(t *testing.T, d *running) {
	t.Helper()
	const path = "/unguarded/customers/sber-42/balance/charge"
	header := http.Header{"Authorization": {"Bearer " + d.token(t, "system")}, "Content-Type": {"application/json"}}
	body := `{"amount": {"amount": "1.00", "currency": "RUB"}, "description": "twin"}`
	if got := d.send(t, http.MethodPost, path, header, body); got.status != http.StatusNotFound {
		t.Errorf("POST %s: status %d, want 404", path, got.status)
	}
}

// Package loopback has the tests of what counts as another page.
func wantPagesToRefuseOthers(t *testing.T, d *running) {
	t.Helper()
	for name, header := range map[string]http.Header{
		"another site":    {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://attacker.example"}},
		"another address": {"Sec-Fetch-Site": {"same-origin"}, "Host": {"attacker.example:8080"}},
	} {
		for _, path := range []string{"/docs/token?role=admin", "/play/open", "/play/pay"} {
			response := d.send(t, http.MethodPost, path, header, "")
			if response.status != http.StatusForbidden || response.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: status %d, headers %v", name, path, response.status, response.header)
			}
		}
	}
	if status := d.get(t, "/docs/token?role=admin", ""); status != http.StatusNotFound {
		t.Errorf("GET of a token: status %d, want 404", status)
	}
}

// The page loads the script of the service and that of orders-dev as one file.
func wantBothScripts(t *testing.T, d *running) {
	t.Helper()
	script := d.send(t, http.MethodGet, "/docs/orders.js", nil, "").body
	if !bytes.HasPrefix(script, []byte("'use strict'")) || !bytes.HasSuffix(script, docsScript) {
		t.Errorf("/docs/orders.js has %d bytes, and does not end with the %d of orders-dev", len(script), len(docsScript))
	}
}

func wantTokensOfRoles(t *testing.T, d *running) {
	t.Helper()
	for role, want := range map[string]int{"customer": http.StatusForbidden, "admin": http.StatusOK} {
		if got := d.get(t, "/admin/audit-log", d.token(t, role)); got != want {
			t.Errorf("%s reads the audit log: status %d, want %d", role, got, want)
		}
	}
	if cache := d.send(t, http.MethodPost, "/docs/token?role=admin", fromThePage, "").header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control of a token is %q", cache)
	}
	if got := d.send(t, http.MethodPost, "/docs/token?role=king", fromThePage, "").status; got != http.StatusBadRequest {
		t.Errorf("role king: status %d, want 400", got)
	}
}
