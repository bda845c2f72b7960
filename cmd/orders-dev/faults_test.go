package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	testwait "example.com/orders/internal/test/wait"
)

// startFaults starts orders-dev, and returns the servers that its faults break.
func startFaults(t *testing.T) (*servers, *running) {
	t.Helper()
	s := &servers{dir: newDir(t), environ: anyPorts, out: io.Discard}
	service, err := s.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := &running{url: s.serviceURL(), cancel: cancel, ended: make(chan error, 1)}
	go func() { d.ended <- service.Run(ctx, s.listeners, 0) }()
	t.Cleanup(func() {
		d.stop(t)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	d.awaitReady(t, http.StatusOK)
	return s, d
}

func (d *running) awaitReady(t *testing.T, status int) {
	t.Helper()
	testwait.Until(t, "/health/ready has the wanted status", func() bool { return d.get(t, "/health/ready", "") == status })
}

// fault sends a request without a body, and returns the status.
func (d *running) fault(t *testing.T, method, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// Each fault breaks what it names, beginning it twice changes nothing, and its end repairs it.
func TestFaults_BeginAndEnd(t *testing.T) {
	t.Parallel()
	s, d := startFaults(t)
	provider := func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.cfg.StripeURL+"/v1/refunds", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.cfg.StripeKey)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	broker := func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.broker.URL(), "nats://"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	database := func() bool { return d.get(t, "/health/ready", "") == http.StatusOK }
	for name, works := range map[string]func() bool{"provider": provider, "broker": broker, "database": database} {
		testwait.Until(t, name+" works", works)
		for range 2 {
			if status := d.fault(t, http.MethodPut, "/faults/"+name); status != http.StatusOK {
				t.Fatalf("PUT /faults/%s: %d", name, status)
			}
			testwait.Until(t, name+" is broken", func() bool { return !works() })
		}
		if status := d.fault(t, http.MethodDelete, "/faults/"+name); status != http.StatusOK {
			t.Fatalf("DELETE /faults/%s: %d", name, status)
		}
		testwait.Until(t, name+" is repaired", works)
	}
	if status := d.fault(t, http.MethodPut, "/faults/weather"); status != http.StatusNotFound {
		t.Errorf("an unknown fault: %d", status)
	}
}

// The careless client sends one key with many amounts: the first one takes effect.
func TestFaults_ClientReusesOneKey(t *testing.T) {
	t.Parallel()
	s, d := startFaults(t)
	conn, err := pgx.Connect(t.Context(), s.postgres.URL(ordersDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	entries := func() (n int) {
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM ledger_entry WHERE idempotency_key = 'monthly-fee'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	d.fault(t, http.MethodPut, "/faults/client")
	testwait.Until(t, "the first credit took effect", func() bool { return entries() == 1 })
	d.fault(t, http.MethodDelete, "/faults/client")

	if n := entries(); n != 1 {
		t.Errorf("%d credits took effect", n)
	}
}

// A run that was killed leaves its faults in PostgreSQL.
func TestFaults_EndWhenTheNextRunBegins(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	startDev(t, dir).stop(t)
	onData(t, dir, `ALTER DATABASE `+ordersDatabase+` SET default_transaction_read_only = on`)

	startDev(t, dir).stop(t) // fails unless it is ready
}
