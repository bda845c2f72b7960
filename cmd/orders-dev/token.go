package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"example.com/orders/internal/core"
	devissuer "example.com/orders/internal/dev/issuer"
)

const (
	tokenUsage = "usage: orders-dev token --sub ID --role ROLE [--ttl 24h] [--dir DIR]" //nolint:gosec // no credentials
	tokenHelp  = tokenUsage + `

Prints a token that the running service accepts.

  --sub ID      subject of the token, such as sber-42
  --role ROLE   customer, seller, admin or system; several with commas
  --ttl 24h     lifetime; the service accepts 24h at most, unless ORDERS_JWT_MAX_LIFETIME
                says otherwise
  --dir DIR     folder where orders-dev keeps its data
`
)

// token prints a token for orders-dev, signed with the key in the folder.
func token(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders-dev token", flag.ContinueOnError)
	sub := flags.String("sub", "", "")
	role := flags.String("role", "", "")
	ttl := flags.Duration("ttl", 24*time.Hour, "")
	dir := flags.String("dir", defaultDir, "")
	if err := parse(flags, args, tokenUsage); errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, tokenHelp)
		return err
	} else if err != nil {
		return err
	}
	if *sub == "" || *role == "" {
		return errors.New(tokenUsage)
	}
	roles, err := parseRoles(*role)
	if err != nil {
		return err
	}
	if _, err := os.Stat(issuerDir(*dir)); err != nil {
		return fmt.Errorf("no signing key in %s: run orders-dev once in this folder", *dir)
	}
	issuer, err := devissuer.New(devissuer.Config{Dir: issuerDir(*dir)})
	if err != nil {
		return err
	}
	signed, err := issuer.Token(*sub, roles, *ttl)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, signed)
	return err
}

func parseRoles(list string) ([]string, error) {
	roles := strings.Split(list, ",")
	for _, name := range roles {
		if _, ok := core.ParseRole(name); !ok {
			return nil, fmt.Errorf("unknown role %q: a role is customer, seller, admin or system", name)
		}
	}
	return roles, nil
}
