package migrations_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

func TestMigrations_ChooseTheServerThatAcceptsWrites(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	standby, primary := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	standby.LeadTo(t, servers.StandbyURL())
	primary.LeadTo(t, servers.PrimaryURL())
	url := pgtest.Through(t, servers.PrimaryURL(), standby, primary)
	if err := migrations.Down(t.Context(), url); err != nil {
		t.Error(err)
	}
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Error(err)
	}
	if err := migrations.Grant(t.Context(), url, "orders_service"); err != nil {
		t.Error(err)
	}
}
