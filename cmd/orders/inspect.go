package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"example.com/orders/internal/config"
	"example.com/orders/internal/observe/version"
)

const (
	versionUsage = `usage: orders version

Prints the version of the release, the commit, and the version of Go.
`
	configUsage = `usage: orders config

Prints the settings in force, one NAME=value a line, and marks the defaults. A secret is
shown as xxxxx, and a URL without its user and its parameters; that of a database keeps its
role and what says where and how it connects. If a setting is wrong, it prints every problem
instead, as orders serve does, and fails.
`
	healthUsage = `usage: orders health

Asks the service whether it is ready: GET /health/ready on ORDERS_ADMIN_ADDR, which is all
that it needs. It fails if the service is not, and prints the cause, or if it does not
answer within 5 seconds. It asks this machine alone, and refuses names that are no setting.
`
)

// healthTimeout is longer than a readiness check takes.
const healthTimeout = 5 * time.Second

func printVersion(_ context.Context, _, _ []string, out io.Writer) error {
	_, err := fmt.Fprintln(out, "orders", version.Get())
	return err
}

func printConfig(_ context.Context, _, environ []string, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	for _, setting := range config.Describe(cfg) {
		mark := ""
		if setting.Default {
			mark = "  # default"
		}
		if _, err := fmt.Fprintf(out, "%s=%s%s\n", setting.Name, setting.Value, mark); err != nil {
			return err
		}
	}
	return nil
}

// checkHealth is the health check for an image that has no shell. Dialling a wildcard
// address, such as 0.0.0.0, reaches this machine.
func checkHealth(ctx context.Context, _, environ []string, out io.Writer) error {
	addr, err := config.AdminAddr(environ)
	if err != nil {
		return err
	}
	if _, port, _ := net.SplitHostPort(addr); port == "0" {
		return errors.New("ORDERS_ADMIN_ADDR has port 0, which means any free port: name the port to ask")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	readiness := url.URL{Scheme: "http", Host: addr, Path: "/health/ready"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, readiness.String(), nil)
	if err != nil {
		return err
	}
	response, err := instance().Do(request)
	if err != nil {
		return fmt.Errorf("no answer: %w: does orders serve run, with this ORDERS_ADMIN_ADDR?", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s answers %s%s", addr, response.Status, causeOf(response))
	}
	var health struct{ Status string }
	if err := json.NewDecoder(response.Body).Decode(&health); err != nil || health.Status != "ready" {
		return fmt.Errorf("not ready: %s answers, but not as orders serve: is ORDERS_ADMIN_ADDR the address of another program?", addr)
	}
	_, err = fmt.Fprintln(out, "ready")
	return err
}

// instance returns a client that asks this machine alone: it uses no proxy, follows no
// redirect, and connects to addresses that orders serve can listen on here.
func instance() *http.Client {
	dialer := &net.Dialer{ControlContext: func(ctx context.Context, network, addr string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		probe, err := new(net.ListenConfig).Listen(ctx, network, net.JoinHostPort(host, "0"))
		if err != nil {
			return fmt.Errorf("%s is no address of this machine: %w", host, err)
		}
		return probe.Close()
	}}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// causeOf returns the detail of an admin listener problem document, after a colon.
func causeOf(response *http.Response) string {
	var problem struct{ Detail string }
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return ""
	}
	return ": " + problem.Detail
}
