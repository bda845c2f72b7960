package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const migrations = "migrations/"

// reference matches what stands before the name of a table or an index.
const reference = `(?:TRUNCATE|FROM|JOIN|INTO|UPDATE|TABLE|ONLY|INDEX CONCURRENTLY|INDEX|ON|REFERENCES|SEQUENCE) `

var (
	used    = regexp.MustCompile(reference + `(\w+)`)
	created = regexp.MustCompile(`CREATE (?:UNIQUE )?(?:TABLE|INDEX CONCURRENTLY|INDEX) (\w+) (?:ON\b|\()`)
)

// dropSQL removes migrations and queries that name a table or an index that is gone, and with
// each migration all that it creates. It returns the tables and indexes that are gone. The
// other migrations get consecutive numbers.
func (t tree) dropSQL(before tree) []string {
	gone := map[string]bool{}
	drop := func(migration file) {
		for _, match := range created.FindAllSubmatch(migration.data, -1) {
			gone[string(match[1])] = true
		}
	}
	for name, f := range before {
		if _, exists := t[name]; !exists && strings.HasPrefix(name, migrations) {
			drop(f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if version, isUp := strings.CutSuffix(name, ".up.sql"); isUp && names(t[name].data, gone) {
			drop(t[name])
			delete(t, name)
			delete(t, version+".down.sql")
		}
	}
	t.numberMigrations()
	for name, f := range t {
		if strings.Contains(name, "/queries/") && names(f.data, gone) {
			delete(t, name)
			delete(t, strings.Replace(name, "/queries/", "/dbsqlc/", 1)+".go")
		}
	}
	return slices.Collect(maps.Keys(gone))
}

func (t tree) numberMigrations() {
	number := 0
	for _, name := range slices.Sorted(maps.Keys(t)) {
		version, isUp := strings.CutSuffix(name, ".up.sql")
		if !isUp {
			continue
		}
		number++
		for _, direction := range []string{".down.sql", ".up.sql"} {
			f := t[version+direction]
			delete(t, version+direction)
			t[fmt.Sprintf("%s%04d_%s", migrations, number, version[len(migrations+"0000_"):]+direction)] = f
		}
	}
}

// names reports whether SQL names something that is gone.
func names(sql []byte, gone map[string]bool) bool {
	for _, match := range used.FindAllSubmatch(sql, -1) {
		if gone[string(match[1])] {
			return true
		}
	}
	return false
}
