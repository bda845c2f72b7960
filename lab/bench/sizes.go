package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sizesConnections is the number of connections in the size measurement.
const sizesConnections = 64

// storage is disk usage by table, in bytes.
type storage map[string]struct{ table, indexes int64 }

// growthOf is a command's database growth.
type growthOf struct {
	command       string
	requests      int64
	before, after storage
}

// sizes measures disk usage per request, before any clean-up, and prints a report.
func (b *bench) sizes(ctx context.Context, out io.Writer) error {
	t, err := b.newTarget(ctx, "sizes")
	if err != nil {
		return err
	}
	if err := b.serve(ctx, t, t.serviceURL(), b.pool); err != nil {
		return err
	}
	var all []growthOf
	for _, c := range commands()[:3] { // one per kind: the others write the same rows
		g, err := b.measureSize(ctx, t, c)
		if err != nil {
			return err
		}
		b.progress("%s: %d requests", c.name, g.requests)
		all = append(all, g)
	}
	setup, err := b.setup(ctx, t)
	if err != nil {
		return err
	}
	return b.publish(out, sizesText(setup, all))
}

// measureSize sends one command's requests and returns the growth in all tables. Each
// request leaves one idempotency record, so the records count the requests.
func (b *bench) measureSize(ctx context.Context, t *target, c command) (growthOf, error) {
	g := growthOf{command: c.name}
	times := timing{length: b.length}
	err := c.prepareRows(ctx, t, times)
	if err != nil {
		return g, err
	}
	var records int64
	if g.before, records, err = t.storage(ctx); err != nil {
		return g, err
	}
	// Not measureService: that would prepare its rows within the measurement.
	if _, err := c.load(t, sizesConnections).run(ctx, times, func() error { return nil }); err != nil {
		return g, err
	}
	g.after, g.requests, err = t.storage(ctx)
	g.requests -= records
	return g, err
}

// storage returns disk usage by table and the number of idempotency records.
func (t *target) storage(ctx context.Context) (storage, int64, error) {
	if err := t.exec(ctx, `VACUUM ANALYZE`); err != nil {
		return nil, 0, err
	}
	rows, _ := t.db.Query(ctx, `SELECT relname, pg_table_size(oid), pg_indexes_size(oid)
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`) // ForEachRow returns the error
	var name string
	var size struct{ table, indexes int64 }
	found := storage{}
	_, err := pgx.ForEachRow(rows, []any{&name, &size.table, &size.indexes}, func() error {
		found[name] = size
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	var records int64
	err = t.db.QueryRow(ctx, `SELECT count(*) FROM idempotency_record`).Scan(&records)
	return found, records, err
}

const sizesIntroduction = `# Sizes

%s
Bytes that one request adds to each table and to its indexes. They were measured by sending
requests for the length of a measurement with %d connections, with vacuum before and after
it. A table that grows by less than a byte for each request is not listed.

| request | requests | table | bytes of the table | bytes of its indexes |
|---|---:|---|---:|---:|
`

func sizesText(setup string, all []growthOf) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, sizesIntroduction, setup, sizesConnections)
	for _, g := range all {
		var tables, indexes int64
		each := func(from, to int64) int64 { return (to - from) / g.requests }
		for _, name := range slices.Sorted(maps.Keys(g.after)) {
			table := each(g.before[name].table, g.after[name].table)
			index := each(g.before[name].indexes, g.after[name].indexes)
			if table+index < 1 {
				continue
			}
			tables, indexes = tables+table, indexes+index
			fmt.Fprintf(out, "| %s | %d | `%s` | %d | %d |\n", g.command, g.requests, name, table, index)
		}
		fmt.Fprintf(out, "| **%s** | | **all** | **%d** | **%d** |\n", g.command, tables, indexes)
	}
	return out.String()
}
