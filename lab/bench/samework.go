package bench

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"example.com/orders/internal/test/pg/roundtrips"
)

// queryName finds the names that sqlc writes above the queries. The scripts
// have the same names above their statements.
var queryName = regexp.MustCompile(`(?m)^-- name: (\w+)`)

func queryNames(text string) []string {
	var names []string
	for _, match := range queryName.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// sameQueries returns an error unless most requests ran exactly the script's queries,
// in any order. The rest may include queries from background jobs.
func (c command) sameQueries(requests [][]roundtrips.Trip) error {
	script, err := readScript(c.script)
	if err != nil {
		return err
	}
	want := queryNames(string(script))
	slices.Sort(want)
	same, different := 0, []string(nil)
	for _, trips := range requests {
		if got := queriesOf(trips); slices.Equal(got, want) {
			same++
		} else {
			different = got
		}
	}
	if same <= len(requests)/2 {
		return fmt.Errorf("queries differ: the service runs %v, scripts/%s.sql runs %v", different, c.script, want)
	}
	return nil
}

// queriesOf returns the sorted query names in the round trips of a request.
func queriesOf(trips []roundtrips.Trip) []string {
	var names []string
	for _, trip := range trips {
		for _, statement := range trip {
			names = append(names, queryNames(statement)...)
		}
	}
	slices.Sort(names)
	return names
}

// padding is the most that a row may spend on column alignment. It depends on id
// lengths, which differ between the sides.
const padding = 8

// tableSize is the content of a table.
type tableSize struct{ rows, bytes int64 }

func (s tableSize) minus(other tableSize) tableSize {
	return tableSize{s.rows - other.rows, s.bytes - other.bytes}
}

// tableSizes returns the size for every table that commands write.
func (t *target) tableSizes() map[string]tableSize {
	sizes := map[string]tableSize{}
	for _, table := range []string{
		"product", "orders", "order_item", "reservation_extension", "payment", "refund",
		"balance", "ledger_entry", "outbox", "audit_log", "idempotency_record",
	} {
		var size tableSize
		err := t.DB.QueryRow(t.t.Context(), `SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0)
			FROM `+table+` t`).Scan(&size.rows, &size.bytes)
		if err != nil {
			t.t.Fatalf("read the size of %s: %v", table, err)
		}
		sizes[table] = size
	}
	return sizes
}

// sameRows returns an error unless both sides, one after the other, have added the same
// number of rows to every table, and the same number of bytes within 5 % and the rows'
// padding.
func sameRows(before, between, after map[string]tableSize) error {
	var differences []error
	for table := range before {
		service := between[table].minus(before[table])
		other := after[table].minus(between[table])
		tolerance := 0.05*math.Abs(float64(service.bytes)) + probeRequests*padding
		difference := math.Abs(float64(service.bytes - other.bytes))
		if service.rows != other.rows || difference > tolerance {
			differences = append(differences, fmt.Errorf(
				"%s: the service added %d rows of %d bytes in all, the other side %d rows of %d bytes",
				table, service.rows, service.bytes, other.rows, other.bytes))
		}
	}
	return errors.Join(differences...)
}
