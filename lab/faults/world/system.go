// Package world starts a run's surroundings: replicas of the service, PostgreSQL, the
// broker, the card provider and the token issuer, with proxies and clocks that can break.
package world

import (
	"strconv"
	"strings"
	"testing"
	"time"

	devbroker "example.com/orders/internal/dev/broker"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	pgproxy "example.com/orders/internal/test/pg/proxy"
	"example.com/orders/lab/cluster"
	"example.com/orders/lab/history"
)

// Patience bounds the wait for one response from a replica that is a local process.
const Patience = 15 * time.Second

// replicas is the number of replicas in a system.
const replicas = 2

// Endpoint is a replica's address for requests.
type Endpoint struct {
	Number    int // in the history
	URL       string
	AdminAddr string
}

// System is a run's environment: replicas running `orders serve`, and everything that
// they need.
type System struct {
	*e2e.Env
	Replicas []*Replica
	// Endpoints are the replicas' addresses for requests.
	Endpoints []Endpoint
	// Cluster runs the replicas, and Balancer distributes requests among them. Both are
	// nil when the replicas are the run's processes.
	Cluster  *cluster.Cluster
	Balancer *Endpoint
	// RetryPause is the shortest time between a client's attempts, and AttemptTimeout
	// bounds one response.
	RetryPause, AttemptTimeout time.Duration
	// Server is the run's PostgreSQL server, and Servers its primary with a standby.
	// Both are nil on the shared server.
	Server  *devpostgres.Server
	Servers *pgtest.Replicated
	// Disk is the server's disk, if it is a small one.
	Disk *Disk
	// Links are the proxies between the replicas and PostgreSQL, if the fault needs
	// them.
	Links    [replicas]*pgproxy.Proxy
	Provider *Provider
	// Streams is the broker. Broker is the same if the run can stop it.
	Streams natstest.Address
	Broker  *devbroker.Broker
	// Clock is the server's clock; nil unless the fault moves it.
	Clock *Clock
	// BrokerLink is between the replicas and the broker; nil unless the fault needs it.
	BrokerLink *BrokerLink
	// Next is the next version's binary; empty unless the fault needs it.
	Next string
	// Keys serves the token issuer's keys.
	Keys     *KeyServer
	Counters Counters
	History  *history.Log
}

// Start starts a system for one run.
func Start(t testing.TB, needs Needs) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog(), RetryPause: 10 * time.Millisecond, AttemptTimeout: Patience}
	if needs.Database != nil {
		needs.Database(t, s)
		s.Connect(t)
	}
	s.Keys = startKeyServer(t, s.Env)
	s.Provider = startProvider(t)
	s.Broker = natstest.New(t)
	s.Streams = s.Broker
	binary := s.build(t, needs)
	for i := range replicas {
		r := s.newReplica(t, i, binary, needs)
		r.Start(t)
		s.Replicas, s.Endpoints = append(s.Replicas, r), append(s.Endpoints, r.Endpoint)
	}
	s.Provider.SendTo(s.Endpoints[0].URL + "/webhooks/stripe")
	return s
}

// build builds the service, and the next version if the fault needs it.
func (s *System) build(t testing.TB, needs Needs) (binary string) {
	t.Helper()
	var flags []string
	if needs.Grouped {
		flags = append(flags, grouped)
	}
	if len(needs.Next) > 0 {
		s.Next = BuildNext(t, needs.Next, flags...)
	}
	if needs.Grouped {
		return build(t, root, flags...)
	}
	return e2e.BuildOrders(t)
}

// newReplica returns a replica without starting it.
func (s *System) newReplica(t testing.TB, number int, binary string, needs Needs) *Replica {
	t.Helper()
	addr, adminAddr := e2e.FreeAddr(t), e2e.FreeAddr(t)
	r := &Replica{Endpoint: Endpoint{number, "http://" + addr, adminAddr}, env: s.Env, Binary: binary}
	r.settings = []string{
		"ORDERS_DATABASE_URL=" + s.databaseOf(t, needs, number),
		"ORDERS_ADDR=" + addr, "ORDERS_ADMIN_ADDR=" + adminAddr, "ORDERS_NATS_URL=" + s.brokerURL(t, needs),
		"ORDERS_UNPAID_ORDERS=0",
	}
	if number == 0 || !needs.OneWithoutCards {
		r.settings = append(r.settings, e2e.CardSettings(s.Provider.URLs[number])...)
	}
	r.settings = append(r.settings, needs.Settings...)
	return r
}

// brokerURL returns the broker's URL for the replicas.
func (s *System) brokerURL(t testing.TB, needs Needs) string {
	t.Helper()
	if !needs.BrokerLink {
		return s.Broker.URL()
	}
	if s.BrokerLink == nil {
		s.BrokerLink = startBrokerLink(t, s.Broker)
	}
	return s.BrokerLink.URL()
}

// databaseOf returns the database URL for a replica.
func (s *System) databaseOf(t testing.TB, needs Needs, replica int) string {
	t.Helper()
	database := s.ServiceURL(t)
	if needs.Link {
		s.Links[replica] = pgproxy.Start(t, database)
		database = s.Links[replica].URL()
	}
	if needs.Connections > 0 {
		database = e2e.WithParameter(t, database, "pool_max_conns", strconv.Itoa(needs.Connections))
	}
	return database
}

// Logs returns the output from all service processes.
func (s *System) Logs() (all string) {
	for _, r := range s.Replicas {
		all += r.Log()
	}
	if s.Cluster != nil {
		for _, n := range s.Cluster.Role("orders") {
			all += n.Log()
		}
	}
	return all
}

// CountShared counts commands in the running processes that shared a transaction.
func (s *System) CountShared(t testing.TB) {
	t.Helper()
	for _, e := range s.Endpoints {
		s.Counters.Add(SharedTransactions, e2e.SharedTransactions(t, e.AdminAddr))
	}
}

// Replica is a service process. A restart keeps its address.
type Replica struct {
	Endpoint

	env      *e2e.Env
	Binary   string
	settings []string
	// Process is the running one.
	Process *e2e.Process
	// processes are all processes so far.
	processes []*e2e.Process
}

// Start starts the process and waits until it is ready.
func (r *Replica) Start(t testing.TB) {
	t.Helper()
	r.Process = r.env.StartProcess(t, r.Binary, r.settings...)
	r.processes = append(r.processes, r.Process)
}

// IsReady reports whether the replica's readiness check succeeds.
func (r *Replica) IsReady() bool { return r.Process.IsOK("/health/ready") }

// Log returns the output from all the replica's processes.
func (r *Replica) Log() string {
	var log strings.Builder
	for _, p := range r.processes {
		log.WriteString(p.Log())
	}
	return log.String()
}
