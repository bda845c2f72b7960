package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check returns everything that keeps the store from working: the table, its columns
// and key, the privileges of the role, the isolation level.
func (s *Store) Check(ctx context.Context) error {
	var isolation, has, missing string
	var unique bool
	table := []any{string(s.Table)}
	tx, err := s.DB.Begin(ctx,
		&Statement{SQL: "SELECT current_setting('transaction_isolation')", Into: []any{&isolation}},
		&Statement{SQL: `SELECT coalesce(string_agg(attname || ' ' || format_type(atttypid, atttypmod), ','), '') FROM pg_attribute
			WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped`, Args: table, Into: []any{&has}},
		&Statement{SQL: `SELECT EXISTS (SELECT FROM pg_index i WHERE indrelid = to_regclass($1::text) AND indisunique AND indisvalid
			AND indpred IS NULL AND (SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
				WHERE attrelid = i.indexrelid) = ARRAY['key', 'scope'])`, Args: table, Into: []any{&unique}},
		&Statement{SQL: `SELECT coalesce(string_agg(p, ', '), '') FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
			WHERE NOT has_table_privilege(to_regclass($1::text), p)`, Args: table, Into: []any{&missing}},
	)
	if err != nil {
		return fmt.Errorf("check the table of records: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it has only read
	var found []error
	if isolation != readCommitted {
		found = append(found, errIsolation(isolation))
	}
	switch columns := missingColumns(has); {
	case has == "":
		found = append(found, fmt.Errorf("there is no table %s: create it with the statements of Schema", s.Table))
	case len(columns) > 0:
		found = append(found, fmt.Errorf("the table %s has no column %s", s.Table, strings.Join(columns, ", ")))
	case !unique:
		found = append(found, fmt.Errorf("the table %s has no primary key (scope, key)", s.Table))
	}
	if missing != "" {
		found = append(found, fmt.Errorf("the role may not %s %s", missing, s.Table))
	}
	return errors.Join(found...)
}

// missingColumns returns the columns that are not in a list.
func missingColumns(has string) (missing []string) {
	for _, column := range columns {
		if name := column[0] + " " + column[1]; !slices.Contains(strings.Split(has, ","), name) {
			missing = append(missing, name)
		}
	}
	return missing
}
