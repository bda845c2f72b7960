//go:build deploy

package deploy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"

	"example.com/orders/internal/config"
)

// settingsProblem returns why the service would refuse to start a command with the
// variables, or nil. roles is the text of deploy/postgres/roles.sql.
func settingsProblem(command string, environ []string, roles string) error {
	switch command {
	case "serve":
		if _, err := config.Read(environ); err != nil {
			return err
		}
		return roleProblem(environ, "orders_app", roles)
	case "migrate up":
		if _, err := config.ReadDatabase(environ); err != nil {
			return err
		}
		return roleProblem(environ, "orders_owner", roles)
	}
	return fmt.Errorf("%q is no command of the image", command)
}

// roleProblem compares the role that the URL of the database names with that of the command.
func roleProblem(environ []string, role, roles string) error {
	u, err := url.Parse(env.ToMap(environ)["ORDERS_DATABASE_URL"])
	if err != nil {
		return errors.New("ORDERS_DATABASE_URL cannot be parsed")
	}
	if u.User.Username() != role || !strings.Contains(roles, "CREATE ROLE "+role+" LOGIN") {
		return fmt.Errorf("connects as %q, want %s of deploy/postgres/roles.sql", u.User.Username(), role)
	}
	if database := strings.TrimPrefix(u.Path, "/"); !strings.Contains(roles, "CREATE DATABASE "+database+" OWNER") {
		return fmt.Errorf("connects to %q, which is not in deploy/postgres/roles.sql", database)
	}
	return nil
}

// portOf returns the port of a listener.
func portOf(environ []string, variable string) int {
	_, port, err := net.SplitHostPort(env.ToMap(environ)[variable])
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}
