package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/orders/internal/test/pg/roundtrips"
)

func TestSameRows_FindsDifferences(t *testing.T) {
	t.Parallel()
	before := map[string]tableSize{"outbox": {0, 0}}
	afterService := map[string]tableSize{"outbox": {200, 40_000}}
	for name, afterScript := range map[string]tableSize{
		"fewer rows":    {300, 60_000},
		"smaller rows":  {400, 70_000},
		"more of both":  {600, 120_000},
		"larger rows":   {400, 90_000},
		"no difference": {400, 80_000},
	} {
		err := sameRows(before, afterService, map[string]tableSize{"outbox": afterScript})
		if wantError := name != "no difference"; (err != nil) != wantError {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestSameQueries_ComparesNamesWithTheScript(t *testing.T) {
	t.Parallel()
	script, err := readScript("order")
	if err != nil {
		t.Fatal(err)
	}
	same := roundtrips.Trip{"BEGIN", string(script), "COMMIT"}
	oneMore := append(slices.Clone(same), "-- name: ProductBySKU :many\nSELECT 1")
	orders := command{script: "order"}

	for name, c := range map[string]struct {
		requests  [][]roundtrips.Trip
		wantError bool
	}{
		"all the same":     {[][]roundtrips.Trip{{same}, {same}, {same}}, false},
		"one with a job":   {[][]roundtrips.Trip{{same}, {same}, {oneMore}}, false},
		"one more query":   {[][]roundtrips.Trip{{oneMore}, {oneMore}, {oneMore}}, true},
		"no query at all":  {[][]roundtrips.Trip{{}, {}, {}}, true},
		"the same by half": {[][]roundtrips.Trip{{same}, {oneMore}}, true},
	} {
		if err := orders.sameQueries(c.requests); (err != nil) != c.wantError {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// Whoever renames a query of the service learns here that a script refers to it.
func TestScripts_NameQueriesOfTheService(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/adapters/out/postgres/queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		queries = append(queries, queryNames(string(text))...)
	}
	for _, c := range commands() {
		if c.script == "" {
			continue
		}
		script, err := readScript(c.script)
		if err != nil {
			t.Fatal(err)
		}
		names := queryNames(string(script))
		if len(names) == 0 {
			t.Errorf("scripts/%s.sql names no query", c.script)
		}
		for _, name := range names {
			if !slices.Contains(queries, name) {
				t.Errorf("scripts/%s.sql: the service has no query named %s", c.script, name)
			}
		}
	}
}
