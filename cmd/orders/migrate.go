package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/caarlos0/env/v11"

	"example.com/orders/migrations"
)

// migrate changes or shows the schema of ORDERS_DATABASE_URL.
func migrate(ctx context.Context, args, environ []string, out io.Writer) error {
	url := env.ToMap(environ)["ORDERS_DATABASE_URL"]
	if len(args) != 1 {
		return errors.New("usage: orders migrate up|down|version")
	}
	if url == "" {
		return errors.New("ORDERS_DATABASE_URL is not set: it names the database to migrate")
	}
	switch args[0] {
	case "up":
		if err := migrations.Up(ctx, url); err != nil {
			return err
		}
	case "down":
		if err := migrations.Down(ctx, url); err != nil {
			return err
		}
	case "version":
	default:
		return fmt.Errorf("no such direction %q: orders migrate up|down|version", args[0])
	}
	return printVersion(url, out)
}

func printVersion(url string, out io.Writer) error {
	version, dirty, err := migrations.Version(url)
	if err != nil {
		return err
	}
	newest, err := migrations.Newest()
	if err != nil {
		return err
	}
	state := ""
	if dirty {
		state = ", broken off half way"
	}
	_, err = fmt.Fprintf(out, "schema version %d of %d%s\n", version, newest, state)
	return err
}
