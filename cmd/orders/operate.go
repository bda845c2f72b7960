package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/reconcile"
)

const (
	jobsUsage = `usage: orders jobs list|show|retry|discard

  list                          up to 100 jobs in each state but completed, newest first;
                                equal jobs are one line with their number
  show ID                       a job with its errors
  retry -actor NAME ID...       let jobs run at once
  discard -actor NAME ID...     cancel jobs; one that a payment still needs returns in a minute
` + changeUsage
	reconcileUsage = `usage: orders reconcile

Compares orders, payments, refunds, balances, ledger and stock now and, with
ORDERS_STRIPE_KEY, payments with the card provider's charges. It changes nothing.

It says which card payments it leaves out, and why: those that the provider may not have
settled, and those for which nothing has happened for three days. It exits with 0 if all
the others agree, with 1 after printing each mismatch, and with 2 if it could not compare
everything, such as card payments when ORDERS_STRIPE_KEY is not set. Members of the database role orders_operator may do this.
`
	changeUsage = `
A change needs -actor: your name for the audit log, which also gets the database login.
Members of the role orders_operator in ORDERS_DATABASE_URL may do this.
`
)

// backlog is work that waits for an operator.
type backlog struct {
	noun   string
	verbs  []string // for IDs: "show", and the changes
	list   func(ctx context.Context) ([][]string, error)
	show   func(ctx context.Context, id int64) ([][]string, error)
	change func(ctx context.Context, verb string, e core.AuditEntry, id int64) error
}

var showRetryDiscard = []string{"show", "retry", "discard"}

// openOperation reads the settings and opens the database for an operators' command.
// It checks the named settings as well.
func openOperation(ctx context.Context, environ []string, used ...string) (cfg config.Config, db *postgres.DB, err error) {
	if cfg, err = config.ReadDatabase(environ, used...); err == nil {
		db, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL, Pooled: cfg.Pooled(), MaxConns: 2}, postgres.Groups{})
	}
	return cfg, db, err
}

func operateJobs(ctx context.Context, args, environ []string, out io.Writer) error {
	_, db, err := openOperation(ctx, environ)
	if err != nil {
		return err
	}
	defer db.Close()
	return operate(ctx, backlog{"Job", showRetryDiscard, db.ListJobs, db.ShowJob, db.ChangeJob}, new(flag.FlagSet), args, out)
}

// operate runs "list", "show ID" or a change with "-actor NAME ID...", which may have
// other flags.
func operate(ctx context.Context, b backlog, flags *flag.FlagSet, args []string, out io.Writer) error {
	verb := strings.Join(args[:min(1, len(args))], "")
	flags.SetOutput(io.Discard)
	actor := flags.String("actor", "", "")
	err := flags.Parse(args[min(1, len(args)):])
	changes := verb != "show"
	switch {
	case verb == "list" && len(args) == 1:
		return printTable(out)(b.list(ctx))
	case err != nil || flags.NArg() == 0 || !slices.Contains(b.verbs, verb):
		return fmt.Errorf("usage: list, or %s with IDs; a change needs -actor NAME", strings.Join(b.verbs, "|"))
	case changes && *actor == "":
		return errors.New("-actor must be your name, for the audit log, and precede the IDs")
	}
	for _, text := range flags.Args() {
		id, err := strconv.ParseInt(text, 10, 63)
		switch {
		case err != nil:
			err = errors.New("an ID is an integer; list prints them")
		case changes:
			action := strings.ToUpper(verb[:1]) + verb[1:] + b.noun
			err = b.change(ctx, verb, core.AuditEntry{Actor: *actor, Action: action, Resource: strings.ToLower(b.noun) + "/" + text}, id)
		default:
			err = printTable(out)(b.show(ctx, id))
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", verb, quoted(text), err)
		}
	}
	return nil
}

// printTable returns a function that prints rows with aligned columns, or "none".
func printTable(out io.Writer) func(rows [][]string, err error) error {
	return func(rows [][]string, err error) error {
		if err == nil && len(rows) == 0 {
			rows = [][]string{{"none"}}
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // Flush returns the error
		}
		return errors.Join(err, table.Flush())
	}
}

// errNotCompared makes the process exit with 2.
var errNotCompared = errors.New("not everything was compared")

func reconcileNow(ctx context.Context, _, environ []string, out io.Writer) error {
	mismatches := [][]string{}
	cfg, db, err := openOperation(ctx, environ, config.ProviderSettings...)
	var left reconcile.LeftOut
	if err == nil {
		defer db.Close()
		left, err = app.Reconcile(ctx, db, cfg, func(m payment.Mismatch) { mismatches = append(mismatches, []string{m.Resource, m.Detail}) })
	}
	if len(mismatches) > 0 || err != nil {
		err = printTable(out)(mismatches, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotCompared, err)
	}
	return reportCoverage(out, len(mismatches), left)
}

// reportCoverage prints what was not compared, and why. It says that everything agrees
// only if everything was compared.
func reportCoverage(out io.Writer, mismatches int, left reconcile.LeftOut) error {
	var lines []string
	add := func(n int, why string) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("not compared with the card provider: %d card payments %s", n, why))
		}
	}
	add(left.Recent, fmt.Sprintf("that are, or were refunded, less than %v ago: they may not have settled", reconcile.SettleTime))
	add(left.Old, fmt.Sprintf("that are, and were last refunded, more than %v ago", reconcile.Window))
	add(left.Unreadable, "with an amount, or a refund, that is NaN")
	add(left.Unasked, "because ORDERS_STRIPE_KEY is not set")
	switch {
	case mismatches > 0:
	case len(lines) > 0:
		lines = append(lines, "everything else agrees")
	default:
		lines = append(lines, "everything agrees")
	}
	_, err := fmt.Fprint(out, strings.Join(append(lines, ""), "\n"))
	switch {
	case err != nil:
		return err
	case left.Unasked > 0:
		return fmt.Errorf("%w: %d mismatches among the rest", errNotCompared, mismatches)
	case mismatches > 0:
		return fmt.Errorf("%d mismatches", mismatches)
	}
	return nil
}
