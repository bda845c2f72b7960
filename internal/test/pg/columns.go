package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Columns returns the contents of each column of each table as one text. Their names are
// like public.orders.reference.
func Columns(ctx context.Context, db Querier) (map[string]string, error) {
	rows, _ := db.Query(ctx, `
		SELECT c.table_schema, c.table_name, c.column_name, c.data_type FROM information_schema.columns c
		JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')`)
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Schema, Table, Column, Type string }])
	if err != nil {
		return nil, fmt.Errorf("list the columns: %w", err)
	}
	contents := map[string]string{}
	for _, c := range columns {
		value := pgx.Identifier{c.Column}.Sanitize() + "::text"
		if c.Type == "bytea" {
			value = "encode(" + pgx.Identifier{c.Column}.Sanitize() + ", 'escape')" // a body is JSON
		}
		rows, _ := db.Query(ctx, fmt.Sprintf(`SELECT coalesce(string_agg(%s, E'\n'), '') FROM %s`,
			value, pgx.Identifier{c.Schema, c.Table}.Sanitize()))
		text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("read %s.%s: %w", c.Table, c.Column, err)
		}
		contents[c.Schema+"."+c.Table+"."+c.Column] = text
	}
	return contents, nil
}

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}
