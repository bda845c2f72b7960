package migrations

import (
	"context"
	_ "embed"
	"fmt"
)

// The roles that `orders migrate up` grants privileges to. Logins of any name are their
// members, so that no installation needs other names for these two.
const (
	ServiceGroup  = "orders_service"
	OperatorGroup = "orders_operator"
)

// grants is the transaction that [Grant] executes.
//
//go:embed grants/grants.sql
var grants string

// Grant grants [ServiceGroup] what the service needs and [OperatorGroup] what the
// operators' commands need, and revokes all other privileges on the same objects. It
// creates these roles, and returns those that are missing because the migrating role may
// not create them. Several processes may call it at once, also on several databases in
// one cluster.
func Grant(ctx context.Context, databaseURL string) (missing []string, err error) {
	conn, err := connect(ctx, databaseURL, "grants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", upLock); err != nil {
		return nil, fmt.Errorf("wait for other migrations: %w", err)
	}
	if _, err := conn.Exec(ctx, grants); err != nil {
		return nil, fmt.Errorf("grant the privileges: %w", err)
	}
	err = conn.QueryRow(ctx, "SELECT ARRAY(SELECT name FROM unnest($1::text[]) name WHERE to_regrole(name) IS NULL)",
		[]string{ServiceGroup, OperatorGroup}).Scan(&missing)
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	return missing, nil
}
