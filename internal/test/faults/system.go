package faults

import (
	"strconv"
	"testing"

	devbroker "example.com/orders/internal/dev/broker"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/internal/test/pg/wire"
)

// replicas is the number of replicas of a system.
const replicas = 2

// System is what a run works on: replicas of `orders serve`, and everything that they need.
type System struct {
	*e2e.Env
	Replicas [replicas]*Replica
	// Server is the PostgreSQL server of the run, Servers its primary with a standby. Both
	// are nil where it uses the shared server.
	Server  *devpostgres.Server
	Servers *pgtest.Replicated
	// Disk is the disk of the server, if it is a small one.
	Disk *smallDisk
	// Links are the proxies between the replicas and PostgreSQL, for faults that need them.
	Links    [replicas]*wire.Proxy
	Provider *Provider
	Broker   *devbroker.Broker
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
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog()}
	if needs.Database != nil {
		needs.Database(t, s)
		s.Connect(t)
	}
	s.Provider = startProvider(t)
	s.Broker = natstest.New(t)
	binary := e2e.BuildOrders(t)
	for i := range s.Replicas {
		s.Replicas[i] = &Replica{Number: i, env: s.Env, binary: binary, settings: s.settings(t, needs, i)}
		s.Replicas[i].Start(t)
	}
	s.Provider.SendTo(s.Replicas[0].URL + "/webhooks/stripe")
	return s
}

// settings returns the settings of one replica.
func (s *System) settings(t testing.TB, needs Needs, replica int) []string {
	t.Helper()
	settings := append(e2e.CardSettings(s.Provider.URL), "ORDERS_DATABASE_URL="+s.databaseOf(t, needs, replica),
		"ORDERS_ADDR="+e2e.FreeAddr(t), "ORDERS_ADMIN_ADDR="+e2e.FreeAddr(t), "ORDERS_NATS_URL="+s.Broker.URL(),
		"ORDERS_UNPAID_ORDERS=0")
	return append(settings, needs.Settings...)
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

// newProbe returns a client that a strike uses itself.
func (s *System) newProbe() *client {
	s.probes++
	return s.load.newClient(100 + s.probes)
}
