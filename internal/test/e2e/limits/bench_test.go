package limits_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
)

// rivals is how many clients one principal has in the benchmark.
const rivals = 200

// BenchmarkOthers measures what a customer sends, alone and beside the clients of one
// principal who all send commands about one order. A client that is refused waits as long
// as Retry-After says.
//
//	go build -o bin/testcluster ./internal/test/pg/cluster
//	bin/testcluster go test -run '^$' -bench Others -benchtime 1000x ./internal/test/e2e/limits
func BenchmarkOthers(b *testing.B) {
	for name, next := range map[string]func(*e2e.Service, e2e.Order) e2e.Call{
		"read": func(s *e2e.Service, o e2e.Order) e2e.Call {
			return e2e.Get(token(b, s), fmt.Sprintf("/orders/%d", o.ID))
		},
		"lookup":  func(s *e2e.Service, _ e2e.Order) e2e.Call { return e2e.LookupCall(token(b, s), "first") },
		"command": func(s *e2e.Service, o e2e.Order) e2e.Call { return s.CancelCall(token(b, s), o.ID) },
	} {
		for _, rival := range []string{"nobody", "customer", "system"} {
			b.Run(name+"/beside="+rival, func(b *testing.B) {
				s := startQuietly(b)
				own := e2e.Want[e2e.Order](b, s, http.StatusCreated, s.CreateOrderCall(b, e2e.Mallory, "tea", 1).WithKey("first"))
				contended := s.MustCreateOrder(b, e2e.Alice, "tea", 1)
				if rival != "nobody" {
					defer contend(b, s, s.Token(b, e2e.Alice, rival), contended.ID)()
				}
				measure(b, s, func() e2e.Call { return next(s, own) })
			})
		}
	}
}

// startQuietly starts a shop with the default limits and without a log.
func startQuietly(b *testing.B) *e2e.Service {
	b.Helper()
	s := e2e.NewEnv(b).StartReplicaWithLog(b, func(config.Config) zerolog.Logger { return zerolog.Nop() },
		"ORDERS_REQUESTS_PER_MINUTE=", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=", "ORDERS_IN_FLIGHT=")
	s.StockUp(b, e2e.Stock{"tea": 1000})
	return s
}

// contend starts clients that extend the reservation of one order, each time with a new
// key.
func contend(b *testing.B, s *e2e.Service, token string, orderID int) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var clients sync.WaitGroup
	for range rivals {
		clients.Go(func() {
			client := newClient()
			for ctx.Err() == nil {
				reply, err := send(ctx, client, s, s.ReserveCall(token, orderID))
				if err == nil && reply.Status == http.StatusTooManyRequests {
					pause, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
					select {
					case <-time.After(time.Duration(pause) * time.Second):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	return func() {
		cancel()
		clients.Wait()
	}
}

// measure sends calls and reports percentiles of their latency.
func measure(b *testing.B, s *e2e.Service, next func() e2e.Call) {
	b.Helper()
	client := newClient()
	var latencies []time.Duration
	for b.Loop() {
		call := next()
		start := time.Now()
		reply, err := send(b.Context(), client, s, call)
		if err != nil || reply.Status >= http.StatusInternalServerError {
			b.Fatalf("%v %s", err, reply.Body)
		}
		latencies = append(latencies, time.Since(start))
	}
	slices.Sort(latencies)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(float64(latencies[len(latencies)*percent/100].Microseconds()), fmt.Sprintf("µs-p%d", percent))
	}
}

// token returns a token of the customer whose requests are measured.
func token(b *testing.B, s *e2e.Service) string {
	b.Helper()
	return s.Token(b, e2e.Mallory, "customer")
}

// newClient returns a client with a connection of its own.
func newClient() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// send sends a call without checking the response against the contract, which takes longer
// than the response.
func send(ctx context.Context, client *http.Client, s *e2e.Service, c e2e.Call) (e2e.Reply, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return e2e.Reply{}, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.Token}, "Idempotency-Key": {c.Key}, "Content-Type": {"application/json"}}
	resp, err := client.Do(req)
	if err != nil {
		return e2e.Reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return e2e.Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}, err
}
