package faults

import (
	"strconv"
	"testing"
	"time"

	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/dev/cluster"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
	natstest "example.com/orders/internal/test/nats"
	"example.com/orders/internal/test/overlay"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/internal/test/pg/wire"
)

// replicas is the number of replicas that a system starts.
const replicas = 2

// Endpoint is where requests reach a replica.
type Endpoint struct {
	Number    int // in the history
	URL       string
	AdminAddr string
}

// System is what a run works on: replicas of `orders serve`, and everything that they need.
type System struct {
	*e2e.Env
	Replicas []*Replica
	// Endpoints are the replicas as requests reach them.
	Endpoints []Endpoint
	// Cluster is what the replicas run on, and Balancer distributes requests among them. Both
	// are nil where the replicas are processes of the run.
	Cluster  *cluster.Cluster
	Balancer *Endpoint
	// RetryPause is the shortest time between two attempts of a client, and AttemptTimeout
	// how long it waits for one response.
	RetryPause, AttemptTimeout time.Duration
	// Server is the PostgreSQL server of the run, Servers its primary with a standby. Both
	// are nil where it uses the shared server.
	Server  *devpostgres.Server
	Servers *pgtest.Replicated
	// Disk is the disk of the server, if it is a small one.
	Disk *smallDisk
	// Links are the proxies between the replicas and PostgreSQL, for faults that need them.
	Links    [replicas]*wire.Proxy
	Provider *Provider
	// Streams is the broker, and Broker is it where the run can stop it.
	Streams natstest.Address
	Broker  *devbroker.Broker
	// Clock is the clock of the server; nil where the fault does not move it.
	Clock *Clock
	// BrokerLink is between the replicas and the broker; nil where the fault does not need it.
	BrokerLink *BrokerLink
	// Next is the binary of the next version; empty where the fault does not need it.
	Next string
	// Keys serves the keys of the token issuer.
	Keys     *KeyServer
	Counters Counters
	History  *history.Log

	// load is the clients, once they are there, and probes the number of those that strikes
	// use themselves.
	load   *Load
	probes int
}

// start starts a system for one run.
func start(t testing.TB, needs Needs) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog(), RetryPause: 10 * time.Millisecond, AttemptTimeout: patience}
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

// build builds the service, and also its next version if the fault needs it.
func (s *System) build(t testing.TB, needs Needs) (binary string) {
	t.Helper()
	var edits []overlay.Edit
	if needs.Grouped {
		edits = append(edits, overlay.Grouped(root))
	}
	if needs.Next {
		s.Next = buildEdited(t, append(edits, nextMigration(t)...)...)
	}
	if needs.Grouped {
		return buildEdited(t, edits...)
	}
	return e2e.BuildOrders(t)
}

// newReplica returns a replica that has not been started.
func (s *System) newReplica(t testing.TB, number int, binary string, needs Needs) *Replica {
	t.Helper()
	addr, adminAddr := e2e.FreeAddr(t), e2e.FreeAddr(t)
	r := &Replica{Endpoint: Endpoint{number, "http://" + addr, adminAddr}, env: s.Env, binary: binary}
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

// brokerURL returns the URL at which the replicas reach the broker.
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

// databaseOf returns the URL at which a replica reaches the database.
func (s *System) databaseOf(t testing.TB, needs Needs, replica int) string {
	t.Helper()
	database := s.ServiceURL(t)
	if needs.Link {
		s.Links[replica] = startLink(t, database)
		database = s.Links[replica].URL()
	}
	if needs.Connections > 0 {
		database = e2e.WithParameter(t, database, "pool_max_conns", strconv.Itoa(needs.Connections))
	}
	return database
}

// startLink starts a proxy to PostgreSQL that runs until the test ends.
func startLink(t testing.TB, databaseURL string) *wire.Proxy {
	t.Helper()
	link, err := wire.Start(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		link.SetHook(nil)
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
	return link
}

// logs returns what all processes of the service have written.
func (s *System) logs() (all string) {
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

// newProbe returns a client that a strike uses itself.
func (s *System) newProbe() *client {
	s.probes++
	return s.load.newClient(firstProbe + s.probes)
}

// countShared counts the commands of the running processes that did not need a transaction
// of their own.
func (s *System) countShared(t testing.TB) {
	t.Helper()
	for _, e := range s.Endpoints {
		s.Counters.Add(sharedTransactions, e2e.SharedTransactions(t, e.AdminAddr))
	}
}
