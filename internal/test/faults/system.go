package faults

import (
	"testing"

	devbroker "example.com/orders/internal/dev/broker"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// replicas is the number of replicas of a system.
const replicas = 2

// System is what a run works on: replicas of `orders serve`, and everything that they need.
type System struct {
	*e2e.Env
	Replicas [replicas]*Replica
	// Server is the PostgreSQL server of the run; nil where it uses the shared one.
	Server   *devpostgres.Server
	Provider *Provider
	Broker   *devbroker.Broker
	Counters Counters
	History  *history.Log
}

// start starts a system for one run.
func start(t testing.TB, needs Needs) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog()}
	if needs.Cluster {
		s.Server = pgtest.NewCluster(t, nil)
		s.DatabaseURL = pgtest.NewOn(t, s.Server)
		s.Connect(t)
	}
	s.Provider = startProvider(t)
	s.Broker = natstest.New(t)
	binary := e2e.BuildOrders(t)
	for i := range s.Replicas {
		s.Replicas[i] = &Replica{Number: i, env: s.Env, binary: binary, settings: s.settings(t, needs)}
		s.Replicas[i].Start(t)
	}
	s.Provider.SendTo(s.Replicas[0].URL + "/webhooks/stripe")
	return s
}

// settings returns the settings of one replica.
func (s *System) settings(t testing.TB, needs Needs) []string {
	t.Helper()
	settings := append(e2e.CardSettings(s.Provider.URL),
		"ORDERS_ADDR="+e2e.FreeAddr(t), "ORDERS_ADMIN_ADDR="+e2e.FreeAddr(t), "ORDERS_NATS_URL="+s.Broker.URL(),
		"ORDERS_UNPAID_ORDERS=0")
	return append(settings, needs.Settings...)
}
