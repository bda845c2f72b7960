package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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
	d.awaitReady(t)
	return s, d
}

// Each fault breaks what it names, beginning it twice changes nothing, and its end repairs it.
func TestFaults_BeginAndEnd(t *testing.T) {
	t.Parallel()
	s, d := startFaults(t)
	provider := func() bool {
		stripe := &running{url: s.cfg.StripeURL}
		return stripe.get(t, "/v1/refunds", s.cfg.StripeKey) == http.StatusOK
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
			if status := d.send(t, http.MethodPut, "/faults/"+name, nil, "").status; status != http.StatusOK {
				t.Fatalf("PUT /faults/%s: %d", name, status)
			}
			testwait.Until(t, name+" is broken", func() bool { return !works() })
		}
		if status := d.send(t, http.MethodDelete, "/faults/"+name, nil, "").status; status != http.StatusOK {
			t.Fatalf("DELETE /faults/%s: %d", name, status)
		}
		testwait.Until(t, name+" is repaired", works)
	}
	if status := d.send(t, http.MethodPut, "/faults/weather", nil, "").status; status != http.StatusNotFound {
		t.Errorf("an unknown fault: %d", status)
	}
}
