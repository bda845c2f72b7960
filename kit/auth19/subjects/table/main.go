// Command table tests every subject with auth19 and writes RESULTS.md. It needs a PostgreSQL
// server, and takes its URL from ORDERS_TEST_POSTGRES_URL; `make -C kit/auth19 table` has one.
//
// A subject is a folder with a description for auth19 (auth19.yaml), one for the page
// (subject.yaml), and the script run, which becomes one process of the server: PORT and REPLICA
// tell which. It may have a package.json, the scripts build, prepare (before the start, in place
// of schema.sql) and ready (after it), and the file single, if there is one process only. PORTS
// begins each port; in the files it is 1870.
//
// Where subject.yaml lists forms, each of them has a row, and run finds it in FORM. needs lists
// programs for lab/need, and Redis starts where it is one of them. unpromised says, by probe,
// why a failure breaks no promise.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	auth19 := flags.String("auth19", "../../../bin/auth19", "the program")
	only := flags.String("only", "", "subjects, separated by commas; RESULTS.md is printed instead of written")
	probes := flags.String("probes", "", "probes, separated by commas")
	runs := flags.Int("runs", 1, "how often a probe that fails is asked")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(*auth19, *runs, out)
	if err != nil {
		return err
	}
	defer b.close()
	subjects, err := readSubjects(".")
	if err != nil {
		return err
	}
	if *only != "" {
		if subjects, err = named(subjects, fields(*only)); err != nil {
			return err
		}
	}
	if err := b.all(ctx, subjects, fields(*probes)); err != nil {
		return err
	}
	text := results(subjects, time.Now().UTC(), *runs)
	if *only != "" || *probes != "" {
		_, err = io.WriteString(out, text)
		return err
	}
	return os.WriteFile("../RESULTS.md", []byte(text), 0o644)
}

// named returns the subjects that have one of the names. The name of a folder stands for all
// forms.
func named(subjects []*subject, names []string) ([]*subject, error) {
	var chosen []*subject
	for _, name := range names {
		found := false
		for _, s := range subjects {
			if s.id == name || filepath.Base(s.folder) == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no subject is called %q", name)
		}
	}
	return chosen, nil
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
