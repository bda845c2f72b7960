package upgrade

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Object kinds.
const (
	table       = "table"
	column      = "column"
	index       = "index"
	uniqueIndex = "unique index"
	constraint  = "constraint" // CHECK, foreign key or exclusion
	trigger     = "trigger"
	sequence    = "sequence"
	function    = "function"
)

// object is something that the statements of the service use or meet.
type object struct {
	Kind, Name, Table string
	// Definition is the type of a column.
	Definition string
	// Columns belong to an index or constraint.
	Columns []string
	// NotNull and HasDefault are about columns.
	NotNull, HasDefault bool
	// File changes when a table or index is written anew.
	File uint32
}

type catalogue []object

const objects = `
	SELECT 'table', relname::text, relname::text, '', '{}'::text[], false, false, coalesce(pg_relation_filenode(oid), 0)
	FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
	UNION ALL
	SELECT 'column', c.relname || '.' || a.attname, c.relname, format_type(a.atttypid, a.atttypmod), '{}',
	       a.attnotnull, a.atthasdef OR a.attidentity <> '', 0
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT CASE WHEN i.indisunique THEN 'unique index' ELSE 'index' END, i.indexrelid::regclass::text, i.indrelid::regclass::text,
	       pg_get_indexdef(i.indexrelid),
	       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = ANY(i.indkey)),
	       false, false, pg_relation_filenode(i.indexrelid)
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace
	UNION ALL
	SELECT 'constraint', conname, conrelid::regclass::text, replace(pg_get_constraintdef(oid), ' NOT VALID', ''),
	       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY(conkey)), false, false, 0
	FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'x')
	UNION ALL
	SELECT 'trigger', tgname, tgrelid::regclass::text, pg_get_triggerdef(oid), '{}', false, false, 0 FROM pg_trigger WHERE NOT tgisinternal
	UNION ALL
	SELECT 'sequence', seqrelid::regclass::text, '', format('%s to %s by %s', seqmin, seqmax, seqincrement), '{}', false, false, 0
	FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE c.relnamespace = 'public'::regnamespace
	UNION ALL
	SELECT 'function', oid::regprocedure::text, '', pg_get_functiondef(oid), '{}', false, false, 0
	FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p')
	ORDER BY 1, 3, 2`

func readCatalogue(ctx context.Context, conn *pgx.Conn) (catalogue, error) {
	rows, err := conn.Query(ctx, objects)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[object])
}

// find returns the object with a kind and name. Constraint names belong to a table.
func (c catalogue) find(like object) (object, bool) {
	i := slices.IndexFunc(c, func(o object) bool {
		return o.Kind == like.Kind && o.Name == like.Name && o.Table == like.Table
	})
	if i < 0 {
		return object{}, false
	}
	return c[i], true
}

func (c catalogue) has(kind, name string) bool {
	return slices.ContainsFunc(c, func(o object) bool { return o.Kind == kind && o.Name == name })
}

// rewritten returns the rewritten tables, and the rewritten indexes on other tables.
func rewritten(before, after catalogue) (found []Finding) {
	isRewritten := func(was object) bool {
		is, kept := after.find(was)
		return kept && is.File != was.File && is.Definition == was.Definition
	}
	for _, was := range before {
		of, _ := before.find(object{Kind: table, Name: was.Table, Table: was.Table})
		if isRewritten(was) && (was.Kind == table || !isRewritten(of)) {
			found = append(found, Finding{Text: was.Name + " is rewritten while commands wait"})
		}
	}
	return found
}

// narrowed returns objects that the old version uses and that are gone, and objects that may
// refuse the writes.
func narrowed(before, after catalogue) (found []Finding) {
	for _, was := range before {
		if f, ok := lost(was, after); ok {
			found = append(found, f)
		}
	}
	for _, is := range after {
		if _, existed := before.find(is); existed || !before.has(table, is.Table) {
			continue
		}
		if f, ok := refuses(is, before); ok {
			found = append(found, f)
		}
	}
	return found
}

// lost returns the finding about an object that existed, if any.
func lost(was object, after catalogue) (Finding, bool) {
	is, kept := after.find(was)
	switch {
	case !kept && (was.Kind == constraint || was.Kind == trigger):
		return Finding{}, false // it refuses no write any more
	case !kept && was.Kind != table && was.Table != "" && !after.has(table, was.Table):
		return Finding{}, false // the table is reported
	case !kept && was.Kind != column && !allLeft(was, after):
		return Finding{}, false // the column is reported
	case !kept:
		return Finding{was.Name, was.Name + " is gone", contracts}, true
	case was.Definition != is.Definition && (was.Kind == constraint || was.Kind == trigger):
		return Finding{was.Name, was.Name + " may refuse what the version before writes", accepts}, true
	case was.Definition != is.Definition && (was.Kind == column || was.Kind == sequence):
		return Finding{was.Name, was.Name + " was " + was.Definition + " and is " + is.Definition, contracts}, true
	case was.Definition != is.Definition:
		return Finding{was.Name, was.Name + " is another " + was.Kind, contracts}, true
	case is.NotNull && !was.NotNull:
		return Finding{was.Name, was.Name + " must not be NULL any more", contracts}, true
	case was.HasDefault && !is.HasDefault:
		return Finding{was.Name, was.Name + " has no default any more", contracts}, true
	}
	return Finding{}, false
}

// refuses returns the finding about a new object on an existing table, if any. The old version
// leaves new columns at their defaults.
func refuses(is object, before catalogue) (Finding, bool) {
	isNew := func(name string) bool { return !before.has(column, is.Table+"."+name) }
	switch {
	case is.Kind == column && is.NotNull && !is.HasDefault:
		return Finding{Text: is.Name + " has no default, and the version before does not write it"}, true
	case is.Kind == uniqueIndex, is.Kind == trigger,
		is.Kind == constraint && (len(is.Columns) == 0 || !all(is.Columns, isNew)):
		return Finding{is.Name, is.Name + " may refuse what the version before writes", accepts}, true
	}
	return Finding{}, false
}

// allLeft reports whether all columns of a removed object still exist.
func allLeft(was object, after catalogue) bool {
	return all(was.Columns, func(name string) bool { return after.has(column, was.Table+"."+name) })
}

func all(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
}
